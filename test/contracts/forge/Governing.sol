// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Roles} from "./Contracts.sol";
import {Resolving} from "./Resolving.sol";
import {Settling} from "./Settling.sol";
import {Signed} from "./Signing.sol";

/// @title Time passes, administrators act, and people try what they may not.
abstract contract Governing is Settling, Resolving {
    function pass(uint256 seed) external step(seed) {
        uint256[4] memory most = [uint256(60), 10 minutes, 3 hours, 4 days];
        _warpTo(block.timestamp + 1 + _pick(most[_pick(4)]));
    }

    /// @notice The collateral's owner blocks somebody, or lets all go again.
    function blockSomebody(uint256 seed) external step(seed) {
        address[4] memory others = [address(settlement), address(oracle), address(tokens), address(resolver)];
        address person = _oneIn(4) ? others[_pick(4)] : _anyone();
        if (_oneIn(3)) _call(arbiter, address(usdc), abi.encodeCall(usdc.blacklist, (person)));
        else _unblockAll();
    }

    function pause(uint256 seed) external step(seed) {
        bytes memory data = _oneIn(4) ? abi.encodeCall(usdc.pause, ()) : abi.encodeCall(usdc.unpause, ());
        if (_call(arbiter, address(usdc), data)) _done("pause");
    }

    /// @notice The administrator takes a role, or gives all back.
    function changeRoles(uint256 seed) external step(seed) {
        (address on, bytes32 role, address account) = _role(_pick(5));
        if (_oneIn(3)) {
            _call(admin, on, abi.encodeCall(Roles.revokeRole, (role, account)));
            return;
        }
        for (uint256 i = 0; i < 5; ++i) {
            (on, role, account) = _role(i);
            _call(admin, on, abi.encodeCall(Roles.grantRole, (role, account)));
        }
    }

    /// @notice Somebody tries what nobody, or somebody else, may do: to move another one's money, to resolve, to govern.
    function intrude(uint256 seed) external step(seed) {
        (address who, address victim) = (_signer(), _trader());
        if (who == victim) return;
        uint256 which = _pick(10);
        MarketInfo memory market = _market();
        uint256 id = _oneIn(2) ? market.yesId : market.noId;
        uint256 amount = _pick(lastShares[victim][id] + 1);
        if (which == 0) {
            if (delegates[victim][who]) _agreeToGive(victim, id, amount);
            _attempt(who, delegates[victim][who], address(tokens), abi.encodeCall(tokens.safeTransferFrom, (victim, who, id, amount, "")));
        } else if (which == 1) {
            bool may = delegates[victim][who] && who == rogue;
            if (may) _agreeToGive(victim, id, amount);
            _attempt(who, may, address(tokens), abi.encodeCall(tokens.settlementTransfer, (victim, who, id, amount)));
        } else if (which == 2) {
            _attempt(who, false, address(usdc), abi.encodeCall(usdc.transferFrom, (victim, who, 1 + _pick(1e6))));
        } else if (which == 3) {
            bytes32 hash = orders.length == 0 ? bytes32(0) : orders[_pick(orders.length)].hash;
            _attempt(who, false, address(settlement), abi.encodeCall(settlement.executeFill, (hash, hash, victim, who, id, amount, 1)));
        } else if (which == 4) {
            _forge(who, victim, market, amount + 1);
        } else if (which == 5) {
            _resolveWrongly(who, market);
        } else if (which == 6) {
            (address on, bytes32 role,) = _role(_pick(5));
            _attempt(who, who == admin, on, abi.encodeCall(Roles.grantRole, (role, who)));
            if (who == admin) _call(admin, on, abi.encodeCall(Roles.revokeRole, (role, who)));
        } else if (which == 7) {
            _attempt(who, who == arbiter, address(usdc), abi.encodeCall(usdc.blacklist, (victim)));
        } else if (which == 8) {
            bytes memory data = abi.encodeCall(oracle.setParameters, (0, true));
            _attempt(who, who == arbiter, address(oracle), data);
        } else {
            _attempt(who, false, address(tokens), abi.encodeCall(tokens.prepareCondition, (stranger, "foreign", 2)));
        }
    }

    /// @dev A request in the victim's name with the intruder's signature.
    function _forge(address who, address victim, MarketInfo memory market, uint256 amount) private {
        uint256 deadline = block.timestamp + 1;
        Signed memory signed = _signApproval(who, who, true, deadline);
        bytes memory data = abi.encodeCall(
            tokens.setApprovalForAllWithSig, (victim, who, true, deadline, signed.v, signed.r, signed.s)
        );
        if (_oneIn(2)) {
            signed = _signMerge(who, market.id, amount, deadline);
            data = abi.encodeCall(
                tokens.mergePositionsWithSig, (victim, usdc, market.id, amount, deadline, signed.v, signed.r, signed.s)
            );
        }
        _attempt(who, false, address(tokens), data);
    }

    function _resolveWrongly(address who, MarketInfo memory market) private {
        uint256[] memory payouts = new uint256[](2);
        payouts[_pick(2)] = 1;
        if (_oneIn(2)) {
            bool own = who == stranger && market.market == address(0);
            if (own) return;
            _attempt(who, false, address(tokens), abi.encodeCall(tokens.reportPayouts, (market.questionId, payouts)));
        } else {
            bytes32 assertionId = resolver.proposalOf(market.id).assertionId;
            bytes memory data = _oneIn(2)
                ? abi.encodeCall(resolver.assertionResolvedCallback, (assertionId, true))
                : abi.encodeCall(resolver.assertionDisputedCallback, (assertionId));
            _attempt(who, false, address(resolver), data);
        }
    }

    function _attempt(address who, bool may, address target, bytes memory data) private {
        bool done = _call(who, target, data);
        _holds(may || !done, Rule.Authority, "somebody did what they may not");
        _done("intrusion");
    }

    function _role(uint256 which) private view returns (address on, bytes32 role, address account) {
        if (which == 0) return (address(settlement), keccak256("OPERATOR_ROLE"), operator);
        if (which == 1) return (address(quickResolver), keccak256("OPERATOR_ROLE"), operator);
        if (which == 2) return (address(factory), keccak256("CREATOR_ROLE"), operator);
        if (which == 3) return (address(tokens), keccak256("SETTLEMENT_ROLE"), address(settlement));
        return (address(resolver), keccak256("PROPOSER_ROLE"), address(0));
    }

    function _unblockAll() internal {
        address[4] memory others = [address(settlement), address(oracle), address(tokens), address(resolver)];
        for (uint256 i = 0; i < others.length; ++i) _unblock(others[i]);
        for (uint256 i = 0; i < people.length; ++i) _unblock(people[i]);
    }

    function _unblock(address account) private {
        if (usdc.isBlacklisted(account)) _call(arbiter, address(usdc), abi.encodeCall(usdc.unBlacklist, (account)));
    }
}
