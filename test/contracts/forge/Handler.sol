// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Governing} from "./Governing.sol";
import {vm} from "./Vm.sol";

/// @title Everything that anybody can do to the exchange, one random action at a time.
contract Handler is Governing {
    constructor() {
        for (uint256 i = 0; i < people.length; ++i) {
            address person = people[i];
            usdc.mint(person, 1_000_000e6);
            _callOrAct(person, address(usdc), abi.encodeCall(usdc.approve, (address(tokens), type(uint256).max)));
        }
        _createMarket(operator, false);
        _createMarket(operator, true);
        _createMarket(operator, false);
        for (uint256 i = 0; i < TRADERS; ++i) {
            address trader = people[i];
            _call(trader, address(usdc), abi.encodeCall(usdc.approve, (address(settlement), type(uint256).max)));
            _call(trader, address(tokens), abi.encodeCall(tokens.setApprovalForAll, (address(settlement), true)));
            delegates[trader][address(settlement)] = true;
            for (uint256 j = 0; j < markets.length; ++j) {
                bytes memory data = abi.encodeCall(tokens.splitPosition, (usdc, 0, markets[j].id, _sets(), 10_000e6));
                _call(trader, address(tokens), data);
            }
        }
        _remember();
    }

    /// @notice The end of a history: every market can be ended, whatever state it is in, and then all shares are paid.
    function end() external {
        for (uint256 i = 1; i < markets.length; ++i) _end(markets[i]);
        if (tokens.payoutDenominator(markets[0].id) == 0) {
            uint256[] memory payouts = new uint256[](2);
            payouts[0] = 1;
            _call(stranger, address(tokens), abi.encodeCall(tokens.reportPayouts, ("foreign", payouts)));
        }
        _call(arbiter, address(usdc), abi.encodeCall(usdc.unpause, ()));
        _unblockAll();
        for (uint256 i = 0; i < people.length; ++i) {
            for (uint256 j = 0; j < markets.length; ++j) _redeemAll(people[i], markets[j]);
        }
        _remember();
    }

    function _end(MarketInfo memory market) private {
        if (tokens.payoutDenominator(market.id) > 0) return;
        address by = market.quick ? address(quickResolver) : address(resolver);
        _warpTo(market.expiration + (market.quick ? 1 days : 30 days));
        if (!market.quick && resolver.proposalOf(market.id).assertionId != 0) {
            _warpTo(resolver.proposalOf(market.id).expirationTime + 7 days);
            bool done = _call(admin, address(resolver), abi.encodeCall(resolver.abandon, (market.id)));
            _holds(done, Rule.Ending, "a proposal can be neither settled nor abandoned");
            if (tokens.payoutDenominator(market.id) > 0) return;
        }
        bool halved = _call(admin, by, abi.encodeCall(resolver.halve, (market.market)));
        _holds(halved, Rule.Ending, "a market cannot be ended");
    }

    function _redeemAll(address person, MarketInfo memory market) private {
        uint256 yes = tokens.balanceOf(person, market.yesId);
        uint256 no = tokens.balanceOf(person, market.noId);
        lastMoney[person] = usdc.balanceOf(person);
        bytes memory data = abi.encodeCall(tokens.redeemPositions, (usdc, 0, market.id, _sets()));
        bool done = _callOrAct(person, address(tokens), data);
        _holds(done, Rule.Ending, "shares of a resolved market cannot be redeemed");
        if (done) _checkRedeemed(market, person, yes, no);
    }

    function _remember() private {
        uint256[] memory ids = _positions();
        for (uint256 i = 0; i < people.length; ++i) {
            lastMoney[people[i]] = usdc.balanceOf(people[i]);
            uint256[] memory shares = _sharesOf(people[i], ids);
            for (uint256 j = 0; j < ids.length; ++j) lastShares[people[i]][ids[j]] = shares[j];
        }
    }

    /// @notice Appends how often each thing was done to a file, a line each.
    function tell(string calldata path) external {
        for (uint256 i = 0; i < kinds.length; ++i) {
            vm.writeLine(path, string.concat(kinds[i], "\t", vm.toString(times[kinds[i]])));
        }
    }

    function hookCalls() external view returns (uint256) {
        return hook.calls();
    }
}
