// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControlDefaultAdminRules} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {IConditionalTokens} from "./IConditionalTokens.sol";
import {Fill, ISettlement, Order, Permit} from "./ISettlement.sol";

/// @title Settles matched fills between traders' signed orders against collateral and outcome shares.
/// @dev What can be decided without a token is decided in the batch itself; the tokens are moved in a call of its own for each fill, so that
/// whatever they do undoes this fill alone.
contract Settlement is ISettlement, EIP712, AccessControlDefaultAdminRules {
    using SafeERC20 for IERC20;

    /// @notice Who may settle batches.
    bytes32 public constant OPERATOR_ROLE = keccak256("OPERATOR_ROLE");

    /// @notice How long after a trader's cancel it takes effect, in seconds.
    uint64 public constant CANCEL_DELAY = 120;

    /// @notice The gas that moving a fill's tokens gets at most. With everything cold and new it takes about 115,000.
    uint256 public constant FILL_GAS = 200_000;

    /// @notice The gas that must be left to begin a fill: FILL_GAS under the 63/64 rule (203,175), two orders' hashes and signatures (12,000),
    /// cold storage (20,000), the fill's and the batch's events (8,000), and room. 50 fills of 100 orders that cost 134,000 each need 6.7 of the
    /// 16.7 million that a transaction may have (EIP-7825); 10 million are left for permits.
    uint256 public constant FILL_RESERVE = 260_000;

    /// @notice The gas that a permit gets at most, for a contract wallet may check its signature. Below 63/64 of FILL_RESERVE.
    uint256 public constant PERMIT_GAS = 150_000;

    /// @dev The gas that reading an allowance gets at most. With everything cold and a proxy it takes about 10,000.
    uint256 private constant ALLOWANCE_GAS = 30_000;

    bytes32 private constant ORDER_TYPEHASH = keccak256(
        "Order(bytes32 marketId,address trader,uint8 side,uint8 outcome,uint64 price,uint64 size,uint64 nonce,uint64 expiration,address makerFeeRecipient)"
    );
    uint256 private constant ORDER_BYTES = 9 * 32;

    /// @notice The highest floor of nonces: above it a trader always has nonces to trade with, 2^32 of them.
    uint64 public constant MAX_NONCE_FLOOR = type(uint64).max - type(uint32).max;

    uint256 private constant UNIT = 1_000_000;
    uint8 private constant BUY = 0;
    uint8 private constant SELL = 1;
    uint8 private constant NO = 1;

    /// @notice The outcome tokens.
    IConditionalTokens public immutable conditionalTokens;

    /// @notice The token that shares are paid in.
    IERC20 public immutable collateral;

    /// @dev An order's size filled in the lowest 64 bits, above it the time that its cancel takes effect.
    mapping(bytes32 orderHash => uint256 word) private _orders;

    /// @dev Used fill numbers, 256 a word.
    mapping(uint256 index => uint256 bits) private _settled;

    mapping(address trader => NonceFloor floor) private _nonceFloors;

    struct NonceFloor {
        uint64 floor;
        uint64 pendingFloor;
        uint64 effectiveAt;
    }

    /// @dev What a batch works out once: each order's hash (zero until it is needed) and whether its signature is the trader's; the latest fill's
    /// market.
    struct Batch {
        bytes32 domainSeparator;
        bytes32[] hashes;
        bool[] signed;
        bytes32 marketId;
        uint256 outcome;
        uint256 positionId;
        bool resolved;
    }

    /// @param admin administers the operator role; hands that over in two steps, `adminDelay` seconds apart
    constructor(IConditionalTokens conditionalTokens_, IERC20 collateral_, address admin, uint48 adminDelay)
        EIP712("Prediction Exchange Settlement", "1")
        AccessControlDefaultAdminRules(adminDelay, admin)
    {
        conditionalTokens = conditionalTokens_;
        collateral = collateral_;
    }

    /// @inheritdoc ISettlement
    function settleBatch(
        Order[] calldata orders,
        bytes[] calldata signatures,
        Permit[] calldata permits,
        Fill[] calldata fills,
        uint64 historyPosition,
        bytes32 historyDigest
    ) external onlyRole(OPERATOR_ROLE) {
        if (orders.length != signatures.length) revert LengthMismatch(orders.length, signatures.length);
        _tryPermits(permits);
        _settleFills(orders, signatures, fills);
        emit HistoryAnchored(historyPosition, historyDigest);
    }

    /// @notice Moves a fill's tokens and notes what is filled, or reverts with the reason. Only this contract calls it, so that a fill fails by
    /// itself.
    function executeFill(
        bytes32 buyHash,
        bytes32 sellHash,
        address buyer,
        address seller,
        uint256 positionId,
        uint256 size,
        uint256 cost
    ) external {
        if (msg.sender != address(this)) revert OnlySelf();
        // The reasons are looked for only after a token has refused, which spares every healthy fill four calls.
        if (!collateral.trySafeTransferFrom(buyer, seller, cost)) {
            if (collateral.balanceOf(buyer) < cost) revert BuyerInsufficientBalance();
            if (collateral.allowance(buyer, address(this)) < cost) revert BuyerInsufficientAllowance();
            _requireShares(seller, positionId, size);
            _refuseCollateral(buyer, seller);
        }
        try conditionalTokens.settlementTransfer(seller, buyer, positionId, size) {}
        catch {
            _requireShares(seller, positionId, size);
            revert TokenUnavailable(address(conditionalTokens));
        }
        // Written last, since a fill that fails would pay for it. Were a token to call back, it could cancel, which a sum leaves as it is, but not
        // fill. Filled and size together are at most the order's size, so nothing is carried into the cancel's time.
        unchecked {
            _orders[buyHash] += size;
            _orders[sellHash] += size;
        }
    }

    /// @inheritdoc ISettlement
    function cancelOrders(Order[] calldata orders) external {
        bytes32 domainSeparator = _domainSeparatorV4();
        uint64 effectiveAt = uint64(block.timestamp) + CANCEL_DELAY;
        for (uint256 i = 0; i < orders.length; ++i) {
            Order calldata order = orders[i];
            bytes32 orderHash = _hash(domainSeparator, order);
            if (order.trader != msg.sender) revert NotOrderTrader(orderHash, order.trader);
            uint256 word = _orders[orderHash];
            if (_cancelAt(word) != 0) continue;
            _orders[orderHash] = word | uint256(effectiveAt) << 64;
            emit OrderCancelled(orderHash, msg.sender, order.marketId, effectiveAt);
        }
    }

    /// @inheritdoc ISettlement
    function scheduleCancelAll(uint64 belowNonce) external {
        NonceFloor memory current = _nonceFloors[msg.sender];
        if (belowNonce > MAX_NONCE_FLOOR) revert NonceFloorTooHigh(MAX_NONCE_FLOOR);
        if (block.timestamp < current.effectiveAt) revert CancelAllPending(current.pendingFloor, current.effectiveAt);
        if (belowNonce <= current.pendingFloor) revert NonceFloorNotRaised(current.pendingFloor);
        uint64 effectiveAt = uint64(block.timestamp) + CANCEL_DELAY;
        _nonceFloors[msg.sender] = NonceFloor(current.pendingFloor, belowNonce, effectiveAt);
        emit CancelScheduled(msg.sender, belowNonce, effectiveAt);
    }

    /// @inheritdoc ISettlement
    function filled(bytes32 orderHash) external view returns (uint256) {
        return uint64(_orders[orderHash]);
    }

    /// @inheritdoc ISettlement
    function cancelEffectiveAt(bytes32 orderHash) external view returns (uint64) {
        return uint64(_cancelAt(_orders[orderHash]));
    }

    /// @inheritdoc ISettlement
    function nonceFloor(address trader) external view returns (uint64 floor, uint64 pendingFloor, uint64 effectiveAt) {
        NonceFloor memory current = _nonceFloors[trader];
        return (current.floor, current.pendingFloor, current.effectiveAt);
    }

    /// @inheritdoc ISettlement
    function hashOrder(Order calldata order) external view returns (bytes32) {
        return _hash(_domainSeparatorV4(), order);
    }

    /// @inheritdoc ISettlement
    function isSettled(uint64 seq) public view returns (bool) {
        return _settled[seq >> 8] & 1 << (seq & 0xff) != 0;
    }

    /// @inheritdoc ISettlement
    function fillsCost(uint64 size, uint64 price) public pure returns (uint256) {
        // Two numbers below 2^64 do not overflow a word.
        unchecked {
            return (uint256(size) * price + UNIT - 1) / UNIT;
        }
    }

    /// @dev A fill begins with more gas than a permit may take, so every permit before it had all of its gas: no fill fails for a starved permit.
    /// One that would not raise the allowance is left out: by an order with such a permit its owner could take away what other fills need.
    function _tryPermits(Permit[] calldata permits) private {
        for (uint256 i = 0; i < permits.length; ++i) {
            Permit calldata permit = permits[i];
            try collateral.allowance{gas: ALLOWANCE_GAS}(permit.owner, address(this)) returns (uint256 allowance) {
                if (allowance >= permit.value) continue;
            } catch {}
            try IERC20Permit(address(collateral)).permit{gas: PERMIT_GAS}(
                permit.owner, address(this), permit.value, permit.deadline, permit.v, permit.r, permit.s
            ) {} catch {}
        }
    }

    function _settleFills(Order[] calldata orders, bytes[] calldata signatures, Fill[] calldata fills) private {
        Batch memory batch;
        batch.domainSeparator = _domainSeparatorV4();
        batch.hashes = new bytes32[](orders.length);
        batch.signed = new bool[](orders.length);
        for (uint256 i = 0; i < fills.length; ++i) {
            Fill calldata fill = fills[i];
            uint64 seq = fill.seq;
            uint256 bits = _settled[seq >> 8];
            uint256 bit = 1 << (seq & 0xff);
            if (bits & bit != 0) continue;
            if (gasleft() < FILL_RESERVE) break;
            if (!_belongTogether(orders, fill)) continue;
            _settled[seq >> 8] = bits | bit;
            if (!_settleFill(batch, orders, signatures, fill)) {
                _settled[seq >> 8] = bits;
                break;
            }
        }
    }

    /// @dev False when a token is unavailable to everybody, which is no fault of the fill: it and those behind it stay untouched.
    function _settleFill(Batch memory batch, Order[] calldata orders, bytes[] calldata signatures, Fill calldata fill)
        private
        returns (bool)
    {
        bytes32 buyHash = _hashAt(batch, orders, signatures, fill.buyIndex);
        bytes32 sellHash = _hashAt(batch, orders, signatures, fill.sellIndex);
        Order calldata buy = orders[fill.buyIndex];
        Order calldata sell = orders[fill.sellIndex];
        (bool healthy, Reason reason, Culprit culprit) =
            _check(batch, buy, sell, fill, _orders[buyHash], _orders[sellHash]);
        if (!healthy) {
            emit FillFailed(fill.seq, buyHash, sellHash, uint8(reason), uint8(culprit));
            return true;
        }
        uint64 size = fill.size;
        uint256 cost = fillsCost(size, fill.price);
        try this.executeFill{gas: FILL_GAS}(
            buyHash, sellHash, buy.trader, sell.trader, batch.positionId, size, cost
        ) {
            emit FillSettled(fill.seq, buyHash, sellHash, fill.price, size, cost);
        } catch (bytes memory revertData) {
            if (bytes4(revertData) == TokenUnavailable.selector) {
                emit BatchStopped(fill.seq, _argumentOf(revertData));
                return false;
            }
            (reason, culprit) = _reasonOf(revertData);
            emit FillFailed(fill.seq, buyHash, sellHash, uint8(reason), uint8(culprit));
        }
        return true;
    }

    /// @dev Everything that needs no token, in the order in which reasons are told.
    function _check(
        Batch memory batch,
        Order calldata buy,
        Order calldata sell,
        Fill calldata fill,
        uint256 buyWord,
        uint256 sellWord
    ) private view returns (bool healthy, Reason reason, Culprit culprit) {
        bool byBuyer = !batch.signed[fill.buyIndex];
        bool bySeller = !batch.signed[fill.sellIndex];
        if (byBuyer || bySeller) return (false, Reason.InvalidSignature, _blame(byBuyer, bySeller));
        byBuyer = block.timestamp >= buy.expiration;
        bySeller = block.timestamp >= sell.expiration;
        if (byBuyer || bySeller) return (false, Reason.OrderExpired, _blame(byBuyer, bySeller));
        byBuyer = _isCancelled(buyWord) || buy.nonce < _floorOf(buy.trader);
        bySeller = _isCancelled(sellWord) || sell.nonce < _floorOf(sell.trader);
        if (byBuyer || bySeller) return (false, Reason.OrderCancelled, _blame(byBuyer, bySeller));
        byBuyer = uint256(uint64(buyWord)) + fill.size > buy.size;
        bySeller = uint256(uint64(sellWord)) + fill.size > sell.size;
        if (byBuyer || bySeller) return (false, Reason.Overfill, _blame(byBuyer, bySeller));
        _lookUpMarket(batch, buy.marketId, buy.outcome);
        if (batch.resolved) return (false, Reason.MarketResolved, Culprit.Both);
        healthy = true;
    }

    /// @dev The market's position is worked out and its resolution asked for once for a run of fills of one market and outcome. Nothing in a batch
    /// can resolve a market.
    function _lookUpMarket(Batch memory batch, bytes32 marketId, uint256 outcome) private view {
        if (batch.positionId != 0 && batch.marketId == marketId && batch.outcome == outcome) return;
        batch.marketId = marketId;
        batch.outcome = outcome;
        bytes32 collectionId = keccak256(abi.encodePacked(marketId, outcome + 1));
        batch.positionId = uint256(keccak256(abi.encodePacked(collateral, collectionId)));
        batch.resolved = conditionalTokens.payoutDenominator(marketId) != 0;
    }

    /// @dev The hash of the order at `index`, worked out and compared with its signature at first use.
    function _hashAt(Batch memory batch, Order[] calldata orders, bytes[] calldata signatures, uint256 index)
        private
        pure
        returns (bytes32 orderHash)
    {
        orderHash = batch.hashes[index];
        if (orderHash != 0) return orderHash;
        Order calldata order = orders[index];
        orderHash = _hash(batch.domainSeparator, order);
        batch.hashes[index] = orderHash;
        (address signer,,) = ECDSA.tryRecoverCalldata(orderHash, signatures[index]);
        batch.signed[index] = signer != address(0) && signer == order.trader;
    }

    function _requireShares(address seller, uint256 positionId, uint256 size) private view {
        if (conditionalTokens.balanceOf(seller, positionId) < size) revert SellerInsufficientShares();
        if (!conditionalTokens.isApprovedForAll(seller, address(this))) revert SellerNotApproved();
    }

    /// @dev Why the collateral did not move although the buyer has it and allows it: transfers of nothing tell whom the token refuses. Where it
    /// refuses this contract too, it refuses everybody, as a paused one does. Asking the two traders alone would not do: two refused
    /// traders with a fill between them would look like a paused token, and stop all settlement.
    function _refuseCollateral(address buyer, address seller) private {
        if (!collateral.trySafeTransfer(address(this), 0)) revert TokenUnavailable(address(collateral));
        bool byBuyer = !collateral.trySafeTransferFrom(buyer, address(this), 0);
        bool bySeller = !collateral.trySafeTransfer(seller, 0);
        revert TransferRejected(byBuyer == bySeller ? Culprit.Both : _blame(byBuyer, bySeller));
    }

    function _floorOf(address trader) private view returns (uint256) {
        NonceFloor memory current = _nonceFloors[trader];
        return block.timestamp >= current.effectiveAt ? current.pendingFloor : current.floor;
    }

    function _isCancelled(uint256 word) private view returns (bool) {
        uint256 effectiveAt = _cancelAt(word);
        return effectiveAt != 0 && block.timestamp >= effectiveAt;
    }

    function _cancelAt(uint256 word) private pure returns (uint256) {
        return word >> 64;
    }

    /// @dev What the operator is answerable for. A fill that is not of two such orders is none, so its number is still free for the real one.
    function _belongTogether(Order[] calldata orders, Fill calldata fill) private pure returns (bool) {
        if (fill.buyIndex >= orders.length || fill.sellIndex >= orders.length) return false;
        Order calldata buy = orders[fill.buyIndex];
        Order calldata sell = orders[fill.sellIndex];
        return buy.side == BUY && sell.side == SELL && buy.marketId == sell.marketId && buy.outcome == sell.outcome
            && buy.outcome <= NO && buy.trader != sell.trader && fill.size != 0 && sell.price <= fill.price
            && fill.price <= buy.price && buy.makerFeeRecipient == address(0) && sell.makerFeeRecipient == address(0);
    }

    function _blame(bool byBuyer, bool bySeller) private pure returns (Culprit) {
        return byBuyer ? bySeller ? Culprit.Both : Culprit.Buyer : Culprit.Seller;
    }

    function _reasonOf(bytes memory revertData) private pure returns (Reason, Culprit) {
        if (revertData.length == 0) return (Reason.TransactionReverted, Culprit.Both);
        bytes4 selector = bytes4(revertData);
        if (selector == BuyerInsufficientBalance.selector) return (Reason.BuyerInsufficientBalance, Culprit.Buyer);
        if (selector == BuyerInsufficientAllowance.selector) return (Reason.BuyerInsufficientAllowance, Culprit.Buyer);
        if (selector == SellerInsufficientShares.selector) return (Reason.SellerInsufficientShares, Culprit.Seller);
        if (selector == SellerNotApproved.selector) return (Reason.SellerNotApproved, Culprit.Seller);
        if (selector == TransferRejected.selector) {
            return (Reason.TransferRejected, Culprit(uint160(_argumentOf(revertData))));
        }
        return (Reason.Unknown, Culprit.Both);
    }

    /// @dev The first argument of an error of this contract.
    function _argumentOf(bytes memory revertData) private pure returns (address argument) {
        assembly ("memory-safe") {
            argument := mload(add(revertData, 0x24))
        }
    }

    /// @dev The struct's words are EIP-712's encoding of its members as they are.
    function _hash(bytes32 domainSeparator, Order calldata order) private pure returns (bytes32) {
        bytes32 typeHash = ORDER_TYPEHASH;
        bytes32 structHash;
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, typeHash)
            calldatacopy(add(free, 0x20), order, ORDER_BYTES)
            structHash := keccak256(free, add(ORDER_BYTES, 0x20))
        }
        return MessageHashUtils.toTypedDataHash(domainSeparator, structHash);
    }
}
