// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Stage} from "./Stage.sol";
import {vm} from "./Vm.sol";

/// @title What must be true, kept beside the contracts: who agreed to lose what in a step, and which rule was broken.
abstract contract Ledger is Stage {
    enum Rule {
        Consent,
        Once,
        Size,
        Limits,
        Cost,
        Payout,
        Authority,
        Signature,
        Cause,
        Ending
    }

    /// @notice How a rule was broken; empty while it holds.
    mapping(Rule rule => string) public broken;

    /// @notice How often each kind of thing was done: whether a history is a rich one.
    mapping(string what => uint256) public times;
    string[] internal kinds;

    uint256 private steps;
    mapping(uint256 step => mapping(address person => uint256)) private mayPay;
    mapping(uint256 step => mapping(address person => mapping(uint256 id => uint256))) private mayGive;
    mapping(address person => uint256) internal lastMoney;
    mapping(address person => mapping(uint256 id => uint256)) internal lastShares;

    /// @dev The hook is a contract whose calls are its own will.
    mapping(address owner => mapping(address delegate => bool)) internal delegates;

    /// @dev Collateral that was given to the conditional tokens for nothing.
    uint256 internal donated;
    /// @dev What rounding down has left of payouts, in units of one by the condition's denominator.
    mapping(bytes32 conditionId => uint256) internal dust;
    /// @dev How many balances were redeemed: each leaves less than one unit.
    mapping(bytes32 conditionId => uint256) internal roundings;

    /// @dev An action: afterwards nobody may have lost what they had not agreed to lose in it.
    modifier step(uint256 seed) {
        ++steps;
        _begin(seed);
        _;
        _compareBalances();
    }

    function _done(string memory what) internal {
        if (times[what]++ == 0) kinds.push(what);
    }

    function _break(Rule rule, string memory how) internal {
        if (bytes(broken[rule]).length == 0) broken[rule] = how;
    }

    function _holds(bool condition, Rule rule, string memory otherwise) internal {
        if (!condition) _break(rule, otherwise);
    }

    /// @dev The person agrees to lose collateral in this step, by a call or by a signature.
    function _agreeToPay(address person, uint256 amount) internal {
        mayPay[steps][person] += amount;
    }

    function _agreeToGive(address person, uint256 id, uint256 amount) internal {
        mayGive[steps][person][id] += amount;
    }

    function _agreeToGiveAll(address person, MarketInfo memory market) internal {
        _agreeToGive(person, market.yesId, lastShares[person][market.yesId]);
        _agreeToGive(person, market.noId, lastShares[person][market.noId]);
    }

    /// @dev Positions of all markets, YES before NO.
    function _positions() internal view returns (uint256[] memory ids) {
        ids = new uint256[](2 * markets.length);
        for (uint256 i = 0; i < markets.length; ++i) (ids[2 * i], ids[2 * i + 1]) = (markets[i].yesId, markets[i].noId);
    }

    function _sharesOf(address person, uint256[] memory ids) internal view returns (uint256[] memory) {
        address[] memory owners = new address[](ids.length);
        for (uint256 i = 0; i < ids.length; ++i) owners[i] = person;
        return tokens.balanceOfBatch(owners, ids);
    }

    function _compareBalances() internal {
        uint256[] memory ids = _positions();
        for (uint256 i = 0; i < people.length; ++i) {
            address person = people[i];
            bool free = person == address(hook);
            uint256 money = usdc.balanceOf(person);
            if (!free && money + mayPay[steps][person] < lastMoney[person]) {
                _break(Rule.Consent, string.concat("collateral of person ", vm.toString(i), " fell without consent"));
            }
            if (money != lastMoney[person]) lastMoney[person] = money;
            uint256[] memory shares = _sharesOf(person, ids);
            for (uint256 j = 0; j < ids.length; ++j) {
                uint256 last = lastShares[person][ids[j]];
                if (shares[j] == last) continue;
                if (!free && shares[j] + mayGive[steps][person][ids[j]] < last) {
                    _break(Rule.Consent, string.concat("shares of person ", vm.toString(i), " fell without consent"));
                }
                lastShares[person][ids[j]] = shares[j];
            }
        }
    }

    /// @dev What a redemption of both balances pays, each rounded down.
    function _payout(MarketInfo memory market, uint256 yes, uint256 no) internal view returns (uint256) {
        uint256 denominator = tokens.payoutDenominator(market.id);
        return yes * tokens.payoutNumerators(market.id, 0) / denominator
            + no * tokens.payoutNumerators(market.id, 1) / denominator;
    }

    /// @dev After a redemption of `yes` and `no` shares: the owner has got what it must pay, and not a unit more.
    function _checkRedeemed(MarketInfo memory market, address owner, uint256 yes, uint256 no) internal {
        uint256 payout = _payout(market, yes, no);
        _holds(usdc.balanceOf(owner) == lastMoney[owner] + payout, Rule.Payout, "a redemption paid another amount");
        dust[market.id] += yes * tokens.payoutNumerators(market.id, 0) + no * tokens.payoutNumerators(market.id, 1)
            - payout * tokens.payoutDenominator(market.id);
        roundings[market.id] += 2;
    }

    /// @notice What the conditional tokens must hold, to the unit: complete sets of what is open, payouts of what is resolved, dust and gifts.
    /// Reverts when the sets of an open condition are incomplete.
    function owed() public view returns (uint256 sum) {
        sum = donated;
        for (uint256 i = 0; i < markets.length; ++i) {
            MarketInfo memory market = markets[i];
            (uint256 yes, uint256 no) = outstanding(market);
            uint256 denominator = tokens.payoutDenominator(market.id);
            if (denominator == 0) {
                require(yes == no, "an open condition has as many YES as NO shares");
                sum += yes;
                continue;
            }
            uint256 parts = yes * tokens.payoutNumerators(market.id, 0) + no * tokens.payoutNumerators(market.id, 1);
            require((parts + dust[market.id]) % denominator == 0, "payouts and dust are whole units");
            require(dust[market.id] <= roundings[market.id] * (denominator - 1), "rounding leaves less than a unit each time");
            sum += (parts + dust[market.id]) / denominator;
        }
    }

    function held() external view returns (uint256) {
        return usdc.balanceOf(address(tokens));
    }

    /// @dev All shares, as they were after the last action: nobody but the people can have any.
    function outstanding(MarketInfo memory market) private view returns (uint256 yes, uint256 no) {
        for (uint256 i = 0; i < people.length; ++i) {
            yes += lastShares[people[i]][market.yesId];
            no += lastShares[people[i]][market.noId];
        }
    }
}
