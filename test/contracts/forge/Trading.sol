// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Fill, Order, Permit} from "../../../contracts-abi/solidity/ISettlement.sol";
import {Signed, Signing} from "./Signing.sol";

/// @title Signs orders, good and bad ones, and cancels them.
abstract contract Trading is Signing {
    struct SignedOrder {
        Order order;
        bytes signature;
        bytes32 hash;
        /// @dev Whether the trader itself signed these very terms.
        bool genuine;
        /// @dev When the trader's cancel takes effect; 0 without one.
        uint256 cancelAt;
        uint256 filled;
    }

    struct Floor {
        uint256 nonce;
        uint256 effectiveAt;
    }

    uint8 internal constant BUY = 0;
    uint8 internal constant SELL = 1;

    SignedOrder[] internal orders;
    /// @dev By hash, counted from 1.
    mapping(bytes32 hash => uint256) internal orderNumber;
    mapping(address trader => Floor[]) private floors;

    /// @notice One order, in one of nine something is wrong with it.
    function signOrder(uint256 seed) external step(seed) {
        _addOrder(_order(uint8(_pick(2)), _market().id, uint8(_pick(2)), 400_000 + _pick(200_000)));
    }

    /// @notice Two orders that cross.
    function signPair(uint256 seed) external step(seed) {
        _addPair();
    }

    /// @notice A trader's cancel of an order, or somebody else's.
    function cancel(uint256 seed) external step(seed) {
        if (orders.length == 0) return;
        // Mostly one of the newest, which batches take most.
        uint256 back = _pick(_oneIn(4) || orders.length < 4 ? orders.length : 4);
        SignedOrder storage signed = orders[orders.length - 1 - back];
        address sender = _oneIn(4) ? _anyone() : signed.order.trader;
        Order[] memory list = new Order[](1);
        list[0] = signed.order;
        if (!_call(sender, address(settlement), abi.encodeCall(settlement.cancelOrders, (list)))) return;
        _done("cancel");
        _holds(sender == signed.order.trader, Rule.Authority, "somebody cancelled another one's order");
        if (signed.cancelAt == 0) signed.cancelAt = block.timestamp + 120;
    }

    /// @notice A trader's cancel of all orders below a nonce.
    function cancelAll(uint256 seed) external step(seed) {
        address trader = _trader();
        uint64 below = uint64(_pick(orders.length + 3));
        if (!_call(trader, address(settlement), abi.encodeCall(settlement.scheduleCancelAll, (below)))) return;
        _done("cancelAll");
        floors[trader].push(Floor(below, block.timestamp + 120));
    }

    function _addPair() internal {
        MarketInfo memory market = _oneIn(4) ? _market() : markets[markets.length - 1 - _pick(2)];
        uint8 outcome = uint8(_pick(2));
        uint256 price = _oneIn(8) ? 1 + _pick(3) : 1 + _pick(999_999);
        _addOrder(_order(SELL, market.id, outcome, price));
        _addOrder(_order(BUY, market.id, outcome, price + _pick(1_000)));
    }

    function _order(uint8 side, bytes32 marketId, uint8 outcome, uint256 price) private returns (Order memory order) {
        order.marketId = marketId;
        order.trader = _trader();
        order.side = side;
        order.outcome = outcome;
        order.price = uint64(price);
        order.size = _oneIn(6) ? uint64(1 + _pick(9)) : uint64(1 + _pick(100_000_000));
        order.nonce = uint64(orders.length);
        order.expiration = uint64(block.timestamp + (_oneIn(8) ? _pick(60) : 1 days + _pick(60 days)));
    }

    function _addOrder(Order memory order) private {
        uint256 fault = _oneIn(9) ? 1 + _pick(8) : 0;
        if (fault == 1) order.side = uint8(2 + _pick(254));
        if (fault == 2) order.outcome = uint8(2 + _pick(254));
        if (fault == 3) order.makerFeeRecipient = order.trader;
        if (fault == 4) order.expiration = uint64(block.timestamp - _pick(3));
        SignedOrder storage added = orders.push();
        added.hash = _orderHash(order);
        Signed memory signed = _sign(fault == 5 ? stranger : order.trader, added.hash);
        added.signature = abi.encodePacked(signed.r, signed.s, signed.v);
        added.genuine = fault < 5;
        if (fault == 6) added.signature = abi.encodePacked(signed.r, signed.s);
        if (fault == 7) {
            // The trader signed other terms.
            order.size += 1;
            added.hash = _orderHash(order);
        }
        if (fault == 8) {
            // Nobody: a signature that recovers to no address, for an order of the zero address.
            order.trader = address(0);
            added.hash = _orderHash(order);
            added.signature = new bytes(65);
        }
        added.order = order;
        orderNumber[added.hash] = orders.length;
    }

    function _isCancelled(SignedOrder storage signed) internal view returns (bool) {
        if (signed.cancelAt != 0 && block.timestamp >= signed.cancelAt) return true;
        Floor[] storage own = floors[signed.order.trader];
        for (uint256 i = 0; i < own.length; ++i) {
            if (block.timestamp >= own[i].effectiveAt && signed.order.nonce < own[i].nonce) return true;
        }
        return false;
    }
}
