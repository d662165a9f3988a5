// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Signing} from "./Signing.sol";

/// @title What holders do themselves: split, merge, redeem, approve, give.
abstract contract Holding is Signing {
    /// @notice A complete set for collateral; the hook does it through a call back, too.
    function split(uint256 seed) external step(seed) {
        MarketInfo memory market = _market();
        (address person, uint256 amount) = (_anyone(), _amount());
        _agreeToPay(person, amount);
        if (_oneIn(2)) _planHook(market);
        if (_callOrAct(person, address(tokens), abi.encodeCall(tokens.splitPosition, (usdc, 0, market.id, _sets(), amount)))) {
            _done("split");
        }
    }

    function merge(uint256 seed) external step(seed) {
        MarketInfo memory market = _market();
        address person = _anyone();
        uint256 most = _least(lastShares[person][market.yesId], lastShares[person][market.noId]);
        uint256 amount = _oneIn(6) ? most + _pick(3) : 1 + _pick(most + 1);
        _agreeToGive(person, market.yesId, amount);
        _agreeToGive(person, market.noId, amount);
        bytes memory data = abi.encodeCall(tokens.mergePositions, (usdc, 0, market.id, _sets(), amount));
        if (!_callOrAct(person, address(tokens), data)) return;
        _done("merge");
        bool paid = usdc.balanceOf(person) == lastMoney[person] + amount;
        _holds(paid, Rule.Payout, "a merge paid another amount");
    }

    function redeem(uint256 seed) external step(seed) {
        MarketInfo memory market = _oneIn(8) ? _market() : _marketThat(true);
        address person = _anyone();
        uint256[] memory sets = _oneIn(2) ? _sets() : _one(1 + _pick(2));
        _agreeToGiveAll(person, market);
        bytes memory data = abi.encodeCall(tokens.redeemPositions, (usdc, 0, market.id, sets));
        if (_callOrAct(person, address(tokens), data)) _redeemed(market, person, sets);
    }

    /// @notice Shares to somebody, by their owner or by a delegate; the hook may refuse them.
    function giveShares(uint256 seed) external step(seed) {
        MarketInfo memory market = _market();
        (address owner, address to, address sender) = (_anyone(), _anyone(), _anyone());
        if (_oneIn(2)) sender = owner;
        uint256 id = _oneIn(2) ? market.yesId : market.noId;
        uint256 amount = 1 + _pick(lastShares[owner][id] + 1);
        if (sender == owner || delegates[owner][sender]) _agreeToGive(owner, id, amount);
        _planHook(market);
        if (_callOrAct(sender, address(tokens), abi.encodeCall(tokens.safeTransferFrom, (owner, to, id, amount, "")))) {
            _done("giveShares");
        }
    }

    /// @notice A batch of shares, in which a position may stand twice.
    function giveManyShares(uint256 seed) external step(seed) {
        MarketInfo memory market = _market();
        (address owner, address to) = (_anyone(), _anyone());
        uint256[] memory ids = new uint256[](3);
        uint256[] memory amounts = new uint256[](3);
        for (uint256 i = 0; i < 3; ++i) {
            ids[i] = _oneIn(2) ? market.yesId : market.noId;
            amounts[i] = _pick(lastShares[owner][ids[i]] / 2 + 2);
        }
        _agreeToGiveAll(owner, market);
        bytes memory data = abi.encodeCall(tokens.safeBatchTransferFrom, (owner, to, ids, amounts, ""));
        if (_callOrAct(owner, address(tokens), data)) _done("giveManyShares");
    }

    /// @notice Collateral to somebody, or to the conditional tokens for nothing.
    function giveMoney(uint256 seed) external step(seed) {
        (address owner, address to) = (_anyone(), _oneIn(4) ? address(tokens) : _anyone());
        uint256 amount = _oneIn(2) ? _amount() : lastMoney[owner] / (1 + _pick(3));
        _agreeToPay(owner, amount);
        if (!_callOrAct(owner, address(usdc), abi.encodeCall(usdc.transfer, (to, amount)))) return;
        _done("giveMoney");
        if (to == address(tokens)) donated += amount;
    }

    function approve(uint256 seed) external step(seed) {
        address owner = _oneIn(4) ? _anyone() : _trader();
        if (_oneIn(2)) {
            address[3] memory spenders = [address(tokens), address(settlement), address(resolver)];
            uint256 value = _oneIn(4) ? _pick(3) * 1e6 : type(uint256).max;
            _callOrAct(owner, address(usdc), abi.encodeCall(usdc.approve, (spenders[_pick(3)], value)));
            return;
        }
        (address delegate, bool approved) = (_oneIn(2) ? address(settlement) : _anyone(), _oneIn(2));
        bool done = _callOrAct(owner, address(tokens), abi.encodeCall(tokens.setApprovalForAll, (delegate, approved)));
        if (!done) return;
        delegates[owner][delegate] = approved;
        _done("approve");
    }

    /// @notice Anybody may make test money.
    function mint(uint256 seed) external step(seed) {
        _call(stranger, address(usdc), abi.encodeCall(usdc.mint, (_anyone(), _amount())));
    }

    /// @dev After a redemption of these sets.
    function _redeemed(MarketInfo memory market, address owner, uint256[] memory sets) internal {
        uint256 yes = sets[0] == 1 || sets.length > 1 ? lastShares[owner][market.yesId] : 0;
        uint256 no = sets[0] == 2 || sets.length > 1 ? lastShares[owner][market.noId] : 0;
        _checkRedeemed(market, owner, yes, no);
        _done(yes + no == 0 ? "redeem of nothing" : "redeem");
    }

    /// @dev What the hook does when it receives shares next: splits, merges, gives them away, redeems nothing; or it refuses.
    function _planHook(MarketInfo memory market) private {
        uint256 amount = 1 + _pick(1_000_000);
        bytes memory data = _oneIn(2)
            ? abi.encodeCall(tokens.mergePositions, (usdc, 0, market.id, _sets(), amount))
            : abi.encodeCall(tokens.splitPosition, (usdc, 0, market.id, _sets(), amount));
        if (_oneIn(4)) data = abi.encodeCall(tokens.safeTransferFrom, (address(hook), stranger, market.yesId, amount, ""));
        hook.plan(address(tokens), data, _oneIn(8));
    }

    /// @dev The hook is a contract, which makes its calls itself.
    function _callOrAct(address person, address target, bytes memory data) internal returns (bool) {
        if (person == address(hook)) return hook.act(target, data);
        return _call(person, target, data);
    }

    function _sets() internal pure returns (uint256[] memory sets) {
        sets = new uint256[](2);
        (sets[0], sets[1]) = (1, 2);
    }

    function _one(uint256 set) internal pure returns (uint256[] memory sets) {
        sets = new uint256[](1);
        sets[0] = set;
    }

    function _least(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }
}
