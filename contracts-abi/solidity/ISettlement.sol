// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice A trader's signed limit order. Side: 0 buy, 1 sell. Outcome: 0 YES, 1 NO. Price in collateral units of 1e-6 a share, size in 1e-6 shares,
/// expiration in seconds. `makerFeeRecipient` is zero: this settlement takes no fees.
struct Order {
    bytes32 marketId;
    address trader;
    uint8 side;
    uint8 outcome;
    uint64 price;
    uint64 size;
    uint64 nonce;
    uint64 expiration;
    address makerFeeRecipient;
}

/// @notice An ERC-2612 permit of the collateral; its spender is the settlement contract.
struct Permit {
    address owner;
    uint256 value;
    uint256 deadline;
    uint8 v;
    bytes32 r;
    bytes32 s;
}

/// @notice A match of two orders of the batch, by their indices. `seq` is used once, whether the fill settles or fails.
struct Fill {
    uint64 seq;
    uint32 buyIndex;
    uint32 sellIndex;
    uint64 price;
    uint64 size;
}

/// @title Settles matched fills between traders' signed orders, all-or-nothing for each fill and never for the batch.
interface ISettlement {
    /// @notice Why a fill failed. The numbers are part of the interface.
    enum Reason {
        BuyerInsufficientBalance,
        BuyerInsufficientAllowance,
        SellerInsufficientShares,
        SellerNotApproved,
        OrderExpired,
        OrderCancelled,
        Overfill,
        MarketResolved,
        InvalidSignature,
        TransferRejected,
        TransactionReverted,
        Unknown
    }

    /// @notice Whose doing it was. Both is also nobody's.
    enum Culprit {
        Buyer,
        Seller,
        Both
    }

    /// @notice `cost` of collateral went from the buyer to the seller, `size` shares the other way.
    event FillSettled(
        uint64 indexed seq, bytes32 indexed buyOrder, bytes32 indexed sellOrder, uint64 price, uint64 size, uint256 cost
    );
    /// @notice Nothing moved, and `seq` is used up.
    event FillFailed(
        uint64 indexed seq, bytes32 indexed buyOrder, bytes32 indexed sellOrder, uint8 reason, uint8 culprit
    );
    /// @notice The batch ended before this fill, since `token` refuses every transfer: it is paused, or refuses this contract. The fill and
    /// those behind it stay untouched, their numbers free.
    event BatchStopped(uint64 indexed seq, address token);
    /// @notice The exchange's history up to `position` has this digest. Once a batch.
    event HistoryAnchored(uint64 indexed position, bytes32 digest);
    /// @notice The order cannot be filled from `effectiveAt` on, in seconds.
    event OrderCancelled(
        bytes32 indexed orderHash, address indexed trader, bytes32 indexed marketId, uint64 effectiveAt
    );
    /// @notice No order of the trader with a nonce below `belowNonce` can be filled from `effectiveAt` on, in seconds.
    event CancelScheduled(address indexed trader, uint64 belowNonce, uint64 effectiveAt);

    /// @notice Each order needs its signature.
    error LengthMismatch(uint256 orders, uint256 signatures);
    /// @notice Only an order's trader may cancel it.
    error NotOrderTrader(bytes32 orderHash, address trader);
    /// @notice Every nonce below `current` is cancelled already, or will be.
    error NonceFloorNotRaised(uint64 current);
    /// @notice A cancel of all nonces below `belowNonce` is pending until `effectiveAt`; it is neither postponed nor weakened. Try again then.
    error CancelAllPending(uint64 belowNonce, uint64 effectiveAt);
    /// @notice For the contract's own calls.
    error OnlySelf();
    /// @notice The buyer has less collateral than the fill costs.
    error BuyerInsufficientBalance();
    /// @notice The buyer allows this contract less collateral than the fill costs.
    error BuyerInsufficientAllowance();
    /// @notice The seller has fewer shares than the fill's size.
    error SellerInsufficientShares();
    /// @notice The seller has not approved this contract for shares.
    error SellerNotApproved();
    /// @notice The collateral refuses transfers of one side, as one on a block list; of both when it refuses both, or does not say whom.
    error TransferRejected(Culprit culprit);
    /// @notice The token refuses everybody's transfers.
    error TokenUnavailable(address token);
    /// @notice A floor above `maximum` would leave the trader too few nonces to trade with ever again.
    error NonceFloorTooHigh(uint64 maximum);

    /// @notice Settles the fills in order. A fill that cannot settle fails by itself, with FillFailed. One whose seq is used already is skipped,
    /// and so is one whose orders are missing or do not belong together: its number stays free. When the gas left could not carry a fill
    /// whatever it does, or a token is unavailable to everybody, that fill and those behind it stay untouched.
    /// @param orders every order once
    /// @param signatures the traders' signatures of the orders, r, s, v
    /// @param permits those that raise an allowance are tried before the fills; one that fails, because it was used already, is no error
    /// @param historyPosition the latest position of the exchange's history
    /// @param historyDigest the history's digest at that position
    function settleBatch(
        Order[] calldata orders,
        bytes[] calldata signatures,
        Permit[] calldata permits,
        Fill[] calldata fills,
        uint64 historyPosition,
        bytes32 historyDigest
    ) external;

    /// @notice Cancels the caller's orders, effective 120 s from now, so that no fill that is matched already can be escaped from. A further
    /// cancel of the same order changes nothing.
    function cancelOrders(Order[] calldata orders) external;

    /// @notice Cancels all the caller's orders with a nonce below `belowNonce`, effective 120 s from now. One at a time: it reverts while an
    /// earlier one is pending, which so is never postponed. Never above MAX_NONCE_FLOOR, so that no trader is locked out for ever.
    function scheduleCancelAll(uint64 belowNonce) external;

    /// @notice How much of the order is filled, in 1e-6 shares, cancelled or not.
    function filled(bytes32 orderHash) external view returns (uint256);

    /// @notice The caller's cancel of the order: when it takes effect, in seconds; zero without one.
    function cancelEffectiveAt(bytes32 orderHash) external view returns (uint64);

    /// @notice The trader's floor: orders with a nonce below `floor` are cancelled, and those below `pendingFloor` from `effectiveAt` on; both
    /// zero without.
    function nonceFloor(address trader) external view returns (uint64 floor, uint64 pendingFloor, uint64 effectiveAt);

    /// @notice Whether the fill number is used up.
    function isSettled(uint64 seq) external view returns (bool);

    /// @notice The order's EIP-712 digest: its hash everywhere, and what its trader signs.
    function hashOrder(Order calldata order) external view returns (bytes32);

    /// @notice ceil(size * price / 1e6): what a buyer pays, in units of the collateral.
    function fillsCost(uint64 size, uint64 price) external pure returns (uint256);
}
