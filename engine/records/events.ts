/** The events. The outcome of a command is a list of events, and the read models are made only from events. */
import { Type, type Static } from './schema-types.js';
import {
  Address, Asset, AssetPrice, Bytes32, Category, ChainId, Claim, Culprit, FailureReason, MarketKind, MarketOutcome,
  Milliseconds, Position, Price,
  PriceRank, PriceSourceName, RelayAction, Seconds, SelfTrade, Side, TimeInForce, Uint256, Uint64, record,
} from './fields.js';

const head = <T extends string, V extends number>(type: T, v: V) => ({ type: Type.Literal(type), v: Type.Literal(v) });

/**
 * The fields of every event about an order. `orderNumber` is the log position of the order's PlaceOrder, and its time
 * priority.
 */
const order = {
  orderHash: Bytes32, orderNumber: Position, marketId: Bytes32, side: Side, outcome: MarketOutcome, price: Price,
};

/** The fields of every event about a fill. `cost` = ceil(size x price / 1e6), in units of 1e-6 of the collateral. */
const fill = {
  /** The fill number: 0, 1, 2, … per log. The settlement contract uses it for replay protection. */
  fill: Position,
  marketId: Bytes32,
  outcome: MarketOutcome,
  /** The resting order's price. */
  price: Price,
  size: Uint64,
  cost: Uint64,
  /** The side of the taker, which is the incoming order. The maker was resting on the other side. */
  takerSide: Side,
  /** The orders' numbers: the log positions of their PlaceOrder commands, which have the hashes and signatures. */
  makerNumber: Position,
  takerNumber: Position,
  buyer: Address,
  seller: Address,
};

/** The fields of version 1. */
const opened = {
  marketId: Bytes32, question: Type.String(), description: Type.String(), category: Category, contractAddress: Address,
  maker: Address, expiration: Seconds, chainId: ChainId, marketKind: MarketKind,
};

/** A market takes orders. `quick` is null for every market but a quick one, whose end is also its expiration. */
export const MarketOpened = record({
  ...head('MarketOpened', 2), ...opened, quick: Type.Union([record({ asset: Asset, startTime: Seconds, endTime: Seconds }), Type.Null()]),
});
export type MarketOpened = Static<typeof MarketOpened>;

/** How a market without `quick` is written, so that histories from before the quick markets keep their digests. */
export const MarketOpenedV1 = record({ ...head('MarketOpened', 1), ...opened });

/** The ERC-1155 ids of the market's shares. */
export const MarketTokenized = record({ ...head('MarketTokenized', 1), marketId: Bytes32, yesToken: Bytes32, noToken: Bytes32 });
export type MarketTokenized = Static<typeof MarketTokenized>;

/**
 * The market's expiration has passed, or the market is resolved. The market takes no more orders, and its resting
 * orders are cancelled (`market_closed`) from here on.
 */
export const MarketClosed = record({ ...head('MarketClosed', 1), marketId: Bytes32 });
export type MarketClosed = Static<typeof MarketClosed>;

/** The engine accepted an order. The order's fills follow, then OrderRested or OrderCancelled if anything remains. */
export const OrderAccepted = record({ ...head('OrderAccepted', 1), ...order, trader: Address, size: Uint64, nonce: Uint64, expiration: Uint64 });
export type OrderAccepted = Static<typeof OrderAccepted>;

/**
 * The terms of the order that the OrderAccepted before has accepted, where one of them differs from the default: `GTC`,
 * not `postOnly`, no `notAfter` (null), `cancel_older`.
 */
export const OrderTermsSet = record({
  ...head('OrderTermsSet', 1), ...order, timeInForce: TimeInForce, postOnly: Type.Boolean(), notAfter: Type.Union([Milliseconds, Type.Null()]),
  selfTrade: SelfTrade,
});
export type OrderTermsSet = Static<typeof OrderTermsSet>;

/** `size` of the order was added to the book, at the order's price and original time priority. */
export const OrderRested = record({ ...head('OrderRested', 1), ...order, size: Uint64 });
export type OrderRested = Static<typeof OrderRested>;

/** A taker and a resting maker traded: the maker's level and the remaining sizes of both orders shrink by `size`. */
export const FillMatched = record({ ...head('FillMatched', 1), ...fill });
export type FillMatched = Static<typeof FillMatched>;

export const CancelReason = Type.Union([
  Type.Literal('user'), Type.Literal('expired'), Type.Literal('self_trade'), Type.Literal('match_limit'),
  Type.Literal('market_closed'), Type.Literal('settlement_failed'), Type.Literal('time_in_force'), Type.Literal('post_only'),
  Type.Literal('cancel_after'),
]);
export type CancelReason = Static<typeof CancelReason>;

/**
 * The order is closed for good with `remaining` unfilled. `rested` of it was on the book and is taken off its level.
 */
export const OrderCancelled = record({
  ...head('OrderCancelled', 1), ...order, remaining: Uint64, rested: Uint64, reason: CancelReason,
});
export type OrderCancelled = Static<typeof OrderCancelled>;

/**
 * The order's size is `size` from now on, filled part included, of which `remaining` is open. `reduced` was taken off
 * the order's level. The order keeps its place.
 */
export const OrderReduced = record({ ...head('OrderReduced', 1), ...order, size: Uint64, remaining: Uint64, reduced: Uint64 });
export type OrderReduced = Static<typeof OrderReduced>;

/**
 * The trader has cancelled all of the open orders in this market, or, with a zero id, in all markets of the chain:
 * `orders` of them, which are cancelled (`user`) from here on. `deadline` is that of the signed request, null if it was
 * not signed.
 */
export const AllOrdersCancelled = record({
  ...head('AllOrdersCancelled', 1), chainId: ChainId, trader: Address, marketId: Bytes32, orders: Position,
  deadline: Type.Union([Uint64, Type.Null()]),
});
export type AllOrdersCancelled = Static<typeof AllOrdersCancelled>;

/**
 * At `firesAt`, all of the trader's open orders on the chain are cancelled (`cancel_after`), unless the switch is armed
 * again or disarmed before.
 */
export const CancelAfterArmed = record({
  ...head('CancelAfterArmed', 1), chainId: ChainId, trader: Address, firesAt: Milliseconds, deadline: Type.Union([Uint64, Type.Null()]),
});
export type CancelAfterArmed = Static<typeof CancelAfterArmed>;

export const CancelAfterDisarmed = record({
  ...head('CancelAfterDisarmed', 1), chainId: ChainId, trader: Address, deadline: Type.Union([Uint64, Type.Null()]),
});
export type CancelAfterDisarmed = Static<typeof CancelAfterDisarmed>;

/**
 * The trader has cancelled on this chain all orders with lower nonces: open ones are cancelled (`user`), new ones are
 * rejected.
 */
export const NonceFloorRaised = record({ ...head('NonceFloorRaised', 1), chainId: ChainId, trader: Address, belowNonce: Uint64 });
export type NonceFloorRaised = Static<typeof NonceFloorRaised>;

/**
 * A transaction that settles these fills, in this order, was signed and is sent next. Another transaction for the same
 * fills may follow.
 */
export const SettlementSubmitted = record({ ...head('SettlementSubmitted', 1), chainId: ChainId, txHash: Bytes32, fills: Type.Array(Position) });
export type SettlementSubmitted = Static<typeof SettlementSubmitted>;

/** The chain settled the fill. */
export const FillSettled = record({ ...head('FillSettled', 1), ...fill, txHash: Bytes32 });
export type FillSettled = Static<typeof FillSettled>;

/**
 * The chain refused the fill, so the trade never happened. Read models that counted the trade subtract it, and the
 * remaining sizes of both orders grow by `size`. The events that follow tell whether an order is open again.
 */
export const FillFailed = record({
  ...head('FillFailed', 1), ...fill, txHash: Bytes32, reason: FailureReason, culprit: Culprit,
});
export type FillFailed = Static<typeof FillFailed>;

/**
 * A fill failed because its trader no longer had, or no longer lent, what the fill needed. `defaults` counts the
 * trader's defaults, each within a day of the one before. From the second on the trader's new orders are rejected
 * (`trader_suspended`) until `suspendedUntil`.
 */
export const TraderDefaulted = record({
  ...head('TraderDefaulted', 1), trader: Address, defaults: Position, suspendedUntil: Type.Union([Milliseconds, Type.Null()]),
});
export type TraderDefaulted = Static<typeof TraderDefaulted>;

/**
 * The innocent order of a failed fill is open again. The `size` that FillFailed gave back to it is matched again: fills
 * and OrderRested follow as for a new order.
 */
export const OrderReinstated = record({ ...head('OrderReinstated', 1), ...order, size: Uint64 });
export type OrderReinstated = Static<typeof OrderReinstated>;

/** Shares moved on the chain outside settlement. `from` is the zero address for minted shares, `to` for burnt ones. */
export const SharesTransferred = record({
  ...head('SharesTransferred', 1), marketId: Bytes32, outcome: MarketOutcome, from: Address, to: Address, amount: Uint256, txHash: Bytes32,
});
export type SharesTransferred = Static<typeof SharesTransferred>;

/** The user was paid for shares of a resolved market. A separate SharesTransferred takes the shares. */
export const PositionRedeemed = record({ ...head('PositionRedeemed', 1), marketId: Bytes32, user: Address, payout: Uint256, txHash: Bytes32 });
export type PositionRedeemed = Static<typeof PositionRedeemed>;

/** The user's holdings by the chain's balances, after every fact that was recorded before. */
export const PositionSynced = record({
  ...head('PositionSynced', 1), marketId: Bytes32, user: Address, yesShares: Uint256, noShares: Uint256,
});
export type PositionSynced = Static<typeof PositionSynced>;

/** An outcome was asserted at the oracle; it may be disputed until `expirationTime` (Unix seconds). */
export const ResolutionProposed = record({
  ...head('ResolutionProposed', 1), marketId: Bytes32, assertionId: Bytes32, proposer: Address, outcome: MarketOutcome, bond: Uint256,
  assertionTime: Seconds, expirationTime: Seconds,
});
export type ResolutionProposed = Static<typeof ResolutionProposed>;

export const ResolutionDisputed = record({ ...head('ResolutionDisputed', 1), marketId: Bytes32, assertionId: Bytes32, disputer: Address });
export type ResolutionDisputed = Static<typeof ResolutionDisputed>;

/**
 * The oracle found the assertion untrue, or the assertion was abandoned: it counts no more. Another assertion may
 * follow.
 */
export const ResolutionRejected = record({ ...head('ResolutionRejected', 1), marketId: Bytes32, assertionId: Bytes32 });
export type ResolutionRejected = Static<typeof ResolutionRejected>;

/** The market has its final outcome. */
export const MarketResolved = record({ ...head('MarketResolved', 1), marketId: Bytes32, winningOutcome: MarketOutcome });
export type MarketResolved = Static<typeof MarketResolved>;

/** The chain pays each share of either outcome of the market one half. */
export const MarketHalved = record({ ...head('MarketHalved', 1), marketId: Bytes32 });
export type MarketHalved = Static<typeof MarketHalved>;

/** A price source has published a price of an asset. */
export const PriceRecorded = record({
  ...head('PriceRecorded', 1), asset: Asset, source: PriceSourceName, rank: PriceRank, price: AssetPrice,
  publishedAt: Milliseconds,
});
export type PriceRecorded = Static<typeof PriceRecorded>;

/** A price that counts for a quick market. `publishedAt` is the source's time in milliseconds. */
const counted = { marketId: Bytes32, source: PriceSourceName, price: AssetPrice, publishedAt: Milliseconds };

/** The price at the market's start. */
export const StrikePriceSet = record({ ...head('StrikePriceSet', 1), ...counted });
export type StrikePriceSet = Static<typeof StrikePriceSet>;

/** The price at the market's end. */
export const EndPriceSet = record({ ...head('EndPriceSet', 1), ...counted });
export type EndPriceSet = Static<typeof EndPriceSet>;

/** Both prices of a quick market are set, and so is what the chain has to pay for. A tie is YES. */
export const QuickMarketDecided = record({ ...head('QuickMarketDecided', 1), marketId: Bytes32, winningOutcome: MarketOutcome });
export type QuickMarketDecided = Static<typeof QuickMarketDecided>;

/**
 * No price of the time in question has come in time. It may still come later; until then the market cannot be resolved.
 */
export const PriceMissed = record({
  ...head('PriceMissed', 1), marketId: Bytes32, boundary: Type.Union([Type.Literal('start'), Type.Literal('end')]),
});
export type PriceMissed = Static<typeof PriceMissed>;

/** The log has every fact of the chain up to and including this block. */
export const ChainAdvanced = record({ ...head('ChainAdvanced', 1), chainId: ChainId, block: Position, blockHash: Bytes32 });
export type ChainAdvanced = Static<typeof ChainAdvanced>;

/**
 * The chain anchors a digest at a position that this history does not have there, and its operators passed that anchor
 * over. The chain's facts count as always.
 */
export const AnchorPassedOver = record({ ...head('AnchorPassedOver', 1), chainId: ChainId, txHash: Bytes32, position: Uint64, digest: Bytes32 });
export type AnchorPassedOver = Static<typeof AnchorPassedOver>;

/**
 * The fields of every event about a request to the relayer: what is asked, who signed it, and the redemptions that it
 * makes.
 */
const relay = { requestId: Bytes32, chainId: ChainId, action: RelayAction, owner: Address, claims: Type.Array(Claim) };

/** The relayer has taken a user's signed request. */
export const RelayRequested = record({ ...head('RelayRequested', 1), ...relay });
export type RelayRequested = Static<typeof RelayRequested>;

/** A transaction for the request was signed and is sent next. Another transaction for the same request may follow. */
export const RelaySubmitted = record({ ...head('RelaySubmitted', 1), ...relay, txHash: Bytes32 });
export type RelaySubmitted = Static<typeof RelaySubmitted>;

/**
 * The request has ended; `txHash` is null if no transaction was sent. The first result is the first claim's, and so on;
 * the last result also holds for the claims after it. `succeeded`: the state on the chain is as the user asked, whoever
 * brought it about.
 */
export const RelayEnded = record({
  ...head('RelayEnded', 1), ...relay, txHash: Type.Union([Bytes32, Type.Null()]),
  results: Type.Array(record({ succeeded: Type.Boolean(), reason: Type.Union([Type.String(), Type.Null()]) })),
});
export type RelayEnded = Static<typeof RelayEnded>;

/** The same signed order was sent again. Its answer is that of `orderNumber`, the position of the first PlaceOrder. */
export const OrderRepeated = record({ ...head('OrderRepeated', 1), orderHash: Bytes32, orderNumber: Position });
export type OrderRepeated = Static<typeof OrderRepeated>;

/** The same CancelAll was sent again: its answer is that of `position`. */
export const CancelAllRepeated = record({ ...head('CancelAllRepeated', 1), chainId: ChainId, trader: Address, marketId: Bytes32, position: Position });
export type CancelAllRepeated = Static<typeof CancelAllRepeated>;

/** A reduction of an order to the size that it has. */
export const ReduceRepeated = record({ ...head('ReduceRepeated', 1), orderHash: Bytes32, orderNumber: Position, size: Uint64 });
export type ReduceRepeated = Static<typeof ReduceRepeated>;

/** A cancel of an order that is already cancelled. */
export const CancelRepeated = record({
  ...head('CancelRepeated', 1), orderHash: Bytes32, orderNumber: Position, size: Uint64, remaining: Uint64,
});
export type CancelRepeated = Static<typeof CancelRepeated>;

export const RejectionCode = Type.Union([
  Type.Literal('invalid_expiration'), Type.Literal('invalid_size'), Type.Literal('unknown_market'), Type.Literal('market_closed'),
  Type.Literal('duplicate_nonce'), Type.Literal('unknown_order'), Type.Literal('not_order_owner'), Type.Literal('already_filled'),
  Type.Literal('market_exists'), Type.Literal('unknown_fill'), Type.Literal('known_fact'), Type.Literal('nonce_cancelled'),
  Type.Literal('unknown_token'), Type.Literal('market_resolved'), Type.Literal('outdated_sync'),
  Type.Literal('relay_exists'), Type.Literal('too_many_relays'), Type.Literal('unknown_relay'),
  Type.Literal('future_price'), Type.Literal('old_price'), Type.Literal('too_many_markets'), Type.Literal('trader_suspended'),
  Type.Literal('too_late'), Type.Literal('not_filled'), Type.Literal('would_match'),
  Type.Literal('nothing_to_cancel'), Type.Literal('outdated_request'), Type.Literal('already_cancelled'), Type.Literal('not_reduced'),
]);
export type RejectionCode = Static<typeof RejectionCode>;

/**
 * The command changed at most a chain's cursor. `subject` names its object: an order hash, a market id, a fill number,
 * …
 */
export const CommandRejected = record({ ...head('CommandRejected', 1), code: RejectionCode, subject: Type.String() });
export type CommandRejected = Static<typeof CommandRejected>;

/**
 * The table of events: every type's current schema. The types below, the codec, the text and the documents come from
 * it.
 */
export const eventSchemas = {
  MarketOpened, MarketTokenized, MarketClosed, MarketResolved, OrderAccepted, OrderTermsSet, OrderRested,
  FillMatched, OrderCancelled, OrderReduced, AllOrdersCancelled, CancelAfterArmed, CancelAfterDisarmed,
  NonceFloorRaised, SettlementSubmitted, FillSettled, FillFailed, TraderDefaulted, OrderReinstated,
  SharesTransferred, PositionRedeemed, PositionSynced, ResolutionProposed, ResolutionDisputed, ResolutionRejected,
  ChainAdvanced, AnchorPassedOver, RelayRequested, RelaySubmitted, RelayEnded, OrderRepeated, CancelRepeated,
  CancelAllRepeated, ReduceRepeated, CommandRejected, MarketHalved, PriceRecorded, StrikePriceSet, EndPriceSet,
  QuickMarketDecided, PriceMissed,
} as const;

export type EventType = keyof typeof eventSchemas;
export type EventOf<T extends EventType> = Static<(typeof eventSchemas)[T]>;
export type Event = { readonly [T in EventType]: EventOf<T> }[EventType];
