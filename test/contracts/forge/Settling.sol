// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Fill, ISettlement, Order, Permit} from "../../../contracts-abi/solidity/ISettlement.sol";
import {Signed} from "./Signing.sol";
import {Trading} from "./Trading.sol";
import {Vm, vm} from "./Vm.sol";

/// @title Settles random batches, and holds what they did against the orders.
abstract contract Settling is Trading {
    uint64 private nextSeq;
    uint64[] private seqs;
    /// @dev How often a fill number settled, and how often it ended in any way.
    mapping(uint64 seq => uint256) internal settled;
    mapping(uint64 seq => uint256) internal ended;

    /// @dev Orders that were filled in the last step.
    bytes32[] private touched;

    /// @dev What the fills of the present batch must have moved, by their events.
    mapping(address person => int256) private moneyMoved;
    mapping(address person => mapping(uint256 id => int256)) private sharesMoved;

    /// @notice A batch of one to four fills of orders that there are, and at times some twice.
    function settle(uint256 seed) external step(seed) {
        if (orders.length > 0) _settle(1 + _pick(4));
    }

    /// @notice Two crossing orders, and a batch that is likely to have them.
    function trade(uint256 seed) external step(seed) {
        _addPair();
        _settle(1 + _pick(3));
    }

    function _settle(uint256 count) private {
        delete touched;
        Order[] memory list = new Order[](2 * count);
        bytes[] memory signatures = new bytes[](2 * count);
        Fill[] memory fills = new Fill[](count);
        for (uint256 i = 0; i < count; ++i) {
            (uint256 buy, uint256 sell) = _pair(i);
            (list[2 * i], list[2 * i + 1]) = (orders[buy].order, orders[sell].order);
            (signatures[2 * i], signatures[2 * i + 1]) = (orders[buy].signature, orders[sell].signature);
            fills[i] = _fill(orders[buy], orders[sell], uint32(2 * i));
        }
        bytes memory data = abi.encodeCall(settlement.settleBatch, (list, signatures, _permits(), fills, 1, bytes32(0)));
        address sender = _oneIn(12) ? _anyone() : operator;
        uint256 gas = _oneIn(6) ? 250_000 + _pick(900_000) : 16_000_000;
        bool allowed = settlement.hasRole(keccak256("OPERATOR_ROLE"), sender);
        vm.recordLogs();
        vm.prank(sender);
        (bool done,) = address(settlement).call{gas: gas}(data);
        if (!done) return;
        _done("batch");
        _holds(allowed, Rule.Authority, "somebody settled a batch without the role");
        _read(vm.getRecordedLogs());
        _compareMoved();
    }

    /// @dev Mostly the newest orders, and a seller for the buyer where there is one.
    function _pair(uint256 back) private returns (uint256 buy, uint256 sell) {
        buy = orders.length - 1;
        if (orders.length >= 2 + 2 * back && !_oneIn(4)) return (buy - 2 * back, buy - 1 - 2 * back);
        buy = _pick(orders.length);
        for (uint256 i = 0; i < 6; ++i) {
            sell = _pick(orders.length);
            Order storage wanted = orders[buy].order;
            Order storage offered = orders[sell].order;
            if (wanted.marketId == offered.marketId && wanted.outcome == offered.outcome && wanted.side == BUY
                    && offered.side == SELL) break;
        }
    }

    function _fill(SignedOrder storage buy, SignedOrder storage sell, uint32 index) private returns (Fill memory fill) {
        fill.seq = _seq();
        (fill.buyIndex, fill.sellIndex) = (index, index + 1);
        if (_oneIn(24)) fill.sellIndex = uint32(_pick(12));
        (uint64 low, uint64 high) = (sell.order.price, buy.order.price);
        fill.price = high > low ? low + uint64(_pick(high - low + 1)) : low;
        if (_oneIn(10)) fill.price = uint64(_pick(1_100_000));
        uint256 left = buy.order.size - buy.filled;
        if (sell.order.size - sell.filled < left) left = sell.order.size - sell.filled;
        if (_oneIn(4)) left = 1 + _pick(left + 1);
        if (_oneIn(10)) left = _pick(buy.order.size + 2);
        fill.size = uint64(_oneIn(40) ? type(uint64).max - _pick(3) : left);
    }

    function _seq() private returns (uint64 seq) {
        if (seqs.length > 0 && _oneIn(5)) return seqs[_pick(seqs.length)];
        nextSeq += uint64(1 + _pick(200));
        seqs.push(nextSeq);
        return nextSeq;
    }

    function _permits() private returns (Permit[] memory permits) {
        permits = new Permit[](_oneIn(3) ? 1 : 0);
        if (permits.length == 0) return permits;
        address owner = _trader();
        uint256 value = _oneIn(3) ? _amount() : type(uint256).max;
        uint256 deadline = block.timestamp + _pick(2 days);
        Signed memory signed = _signPermit(owner, address(settlement), value, deadline);
        permits[0] = Permit(owner, _oneIn(6) ? value / 2 : value, deadline, signed.v, signed.r, signed.s);
    }

    function _read(Vm.Log[] memory logs) private {
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].emitter != address(settlement)) continue;
            bytes32 topic = logs[i].topics[0];
            if (topic == ISettlement.BatchStopped.selector) _done("batchStopped");
            if (topic != ISettlement.FillSettled.selector && topic != ISettlement.FillFailed.selector) continue;
            uint64 seq = uint64(uint256(logs[i].topics[1]));
            _holds(++ended[seq] == 1, Rule.Once, "a fill number was used twice");
            _holds(settlement.isSettled(seq), Rule.Once, "a fill ended and its number is free");
            if (topic == ISettlement.FillSettled.selector) {
                _holds(++settled[seq] == 1, Rule.Once, "a fill settled twice");
                _readSettled(logs[i]);
            } else {
                (uint8 reason,) = abi.decode(logs[i].data, (uint8, uint8));
                _done(string.concat("failed", vm.toString(reason)));
                // 10 and 11: no reason is known, or the gas was spent. Neither can be with these tokens.
                _holds(reason < 10, Rule.Cause, "a fill failed for no reason of its traders");
            }
        }
    }

    function _readSettled(Vm.Log memory log) private {
        _done("settled");
        (uint256 buyNumber, uint256 sellNumber) = (orderNumber[log.topics[2]], orderNumber[log.topics[3]]);
        if (buyNumber == 0 || sellNumber == 0) return _break(Rule.Signature, "an order that nobody made was filled");
        SignedOrder storage buy = orders[buyNumber - 1];
        SignedOrder storage sell = orders[sellNumber - 1];
        (uint64 price, uint64 size, uint256 cost) = abi.decode(log.data, (uint64, uint64, uint256));
        _checkOrder(buy, price, size, BUY);
        _checkOrder(sell, price, size, SELL);
        Order storage order = buy.order;
        _holds(order.marketId == sell.order.marketId && order.outcome == sell.order.outcome, Rule.Limits, "unlike orders were filled");
        _holds(order.trader != sell.order.trader, Rule.Limits, "a trader traded with itself");
        _holds(tokens.payoutDenominator(order.marketId) == 0, Rule.Limits, "a resolved market was traded");
        _holds(cost * 1e6 >= uint256(size) * price && cost * 1e6 < uint256(size) * price + 1e6, Rule.Cost, "another cost");
        uint256 id = tokens.getPositionId(usdc, tokens.getCollectionId(0, order.marketId, order.outcome + 1));
        _move(order.trader, sell.order.trader, id, size, cost);
    }

    function _checkOrder(SignedOrder storage signed, uint64 price, uint64 size, uint8 side) private {
        signed.filled += size;
        touched.push(signed.hash);
        Order storage order = signed.order;
        _holds(signed.genuine, Rule.Signature, "an order was filled that its trader did not sign");
        _holds(order.side == side, Rule.Limits, "an order was filled on the other side");
        _holds(side == BUY ? price <= order.price : price >= order.price, Rule.Limits, "a fill beyond a limit");
        _holds(block.timestamp < order.expiration, Rule.Limits, "an expired order was filled");
        _holds(!_isCancelled(signed), Rule.Limits, "a cancelled order was filled");
        _holds(order.makerFeeRecipient == address(0), Rule.Limits, "an order with a fee was filled");
        _holds(signed.filled <= order.size, Rule.Size, "an order was filled beyond its size");
    }

    /// @dev The buyer agreed to pay, the seller to give, by their orders.
    function _move(address buyer, address seller, uint256 id, uint256 size, uint256 cost) private {
        _agreeToPay(buyer, cost);
        _agreeToGive(seller, id, size);
        moneyMoved[buyer] -= int256(cost);
        moneyMoved[seller] += int256(cost);
        sharesMoved[buyer][id] += int256(size);
        sharesMoved[seller][id] -= int256(size);
    }

    /// @dev What moved is what the events say, to the unit, for everybody: buyers' costs are sellers' proceeds, and nobody else is touched.
    function _compareMoved() private {
        uint256[] memory ids = _positions();
        for (uint256 i = 0; i < people.length; ++i) {
            address person = people[i];
            bool same = int256(usdc.balanceOf(person)) == int256(lastMoney[person]) + moneyMoved[person];
            moneyMoved[person] = 0;
            _holds(same, Rule.Cost, "a batch moved other collateral than its fills cost");
            uint256[] memory shares = _sharesOf(person, ids);
            for (uint256 j = 0; j < ids.length; ++j) {
                int256 moved = sharesMoved[person][ids[j]];
                sharesMoved[person][ids[j]] = 0;
                _holds(int256(shares[j]) == int256(lastShares[person][ids[j]]) + moved, Rule.Cost, "a batch moved other shares");
            }
        }
    }

    /// @notice Orders that were filled in the last batch: what the settlement has of each is the sum of its fills, and at most its size.
    function checkFilled() external view {
        for (uint256 i = 0; i < touched.length; ++i) _checkFilled(orders[orderNumber[touched[i]] - 1]);
    }

    /// @notice All orders and all numbers.
    function checkAllFilled() external view {
        for (uint256 i = 0; i < orders.length; ++i) _checkFilled(orders[i]);
        for (uint256 i = 0; i < seqs.length; ++i) {
            require(settlement.isSettled(seqs[i]) == (ended[seqs[i]] > 0), "a number is used when its fill ended, and only then");
        }
    }

    function _checkFilled(SignedOrder storage signed) private view {
        uint256 filled = settlement.filled(signed.hash);
        require(filled == signed.filled, "filled is the sum of the fills");
        require(filled <= signed.order.size, "filled is at most the size");
    }
}
