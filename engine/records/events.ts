/** The events: everything that anyone ever sees. The outcome of a command is a list of these; read models are made of nothing else. */
import Type from 'typebox';
import {
  Address, Bytes32, Category, ChainId, Culprit, FailureReason, MarketKind, MarketOutcome, Position, Price, Seconds, Side, Uint256, Uint64,
  record,
} from './fields.js';

const head = <T extends string, V extends number>(type: T, v: V) => ({ type: Type.Literal(type), v: Type.Literal(v) });

/** The parts of an order that every event about it names. `orderNumber` is the log position of its PlaceOrder: its time priority. */
const order = { orderHash: Bytes32, orderNumber: Position, marketId: Bytes32, side: Side, outcome: MarketOutcome, price: Price };

/** The parts of a fill that every event about it names. `cost` = ceil(size x price / 1e6), in collateral units of 1e-6. */
const fill = {
  /** Dense from 0 in a shard: the settlement contract's replay protection. */
  fill: Position,
  marketId: Bytes32,
  outcome: MarketOutcome,
  /** The resting order's price. */
  price: Price,
  size: Uint64,
  cost: Uint64,
  /** The side of the taker, the order that came in; the other side's order was resting. */
  takerSide: Side,
  /** The orders' numbers: the log positions of their PlaceOrder commands, where their hashes and signatures are. */
  makerNumber: Position,
  takerNumber: Position,
  buyer: Address,
  seller: Address,
};

export const MarketOpened = record({
  ...head('MarketOpened', 1),
  marketId: Bytes32, question: Type.String(), description: Type.String(), category: Category, contractAddress: Address,
  maker: Address, expiration: Seconds, chainId: ChainId, marketKind: MarketKind,
});

/** The ERC-1155 ids of the market's shares. */
export const MarketTokenized = record({ ...head('MarketTokenized', 1), marketId: Bytes32, yesToken: Bytes32, noToken: Bytes32 });

/**
 * A market's expiration has passed, or it is resolved: it takes no more orders, and those it has are cancelled (`market_closed`) from
 * here on.
 */
export const MarketClosed = record({ ...head('MarketClosed', 1), marketId: Bytes32 });

/** An order was taken in. Its matches follow, then OrderRested or OrderCancelled if anything of it is left. */
export const OrderAccepted = record({ ...head('OrderAccepted', 1), ...order, trader: Address, size: Uint64, nonce: Uint64, expiration: Uint64 });

/** `size` more of the order stands on the book, at its price and its original time priority. */
export const OrderRested = record({ ...head('OrderRested', 1), ...order, size: Uint64 });

/** A taker and a resting maker traded: the maker's level and both orders' remaining sizes shrink by `size`. */
export const FillMatched = record({ ...head('FillMatched', 1), ...fill });

export const CancelReason = Type.Union([
  Type.Literal('user'), Type.Literal('expired'), Type.Literal('self_trade'), Type.Literal('match_limit'),
  Type.Literal('market_closed'), Type.Literal('settlement_failed'),
]);
export type CancelReason = Type.Static<typeof CancelReason>;

/** The order is closed with `remaining` unfilled, and is so from here on. `rested` of it stood on the book and leaves its level. */
export const OrderCancelled = record({
  ...head('OrderCancelled', 1), ...order, remaining: Uint64, rested: Uint64, reason: CancelReason,
});

/** The trader has cancelled on this chain all orders with lower nonces: those it has are cancelled (`user`), further ones refused. */
export const NonceFloorRaised = record({ ...head('NonceFloorRaised', 1), chainId: ChainId, trader: Address, belowNonce: Uint64 });

/** A transaction that settles these fills, in this order, was signed; its sending follows. Another one for the same fills may come. */
export const SettlementSubmitted = record({ ...head('SettlementSubmitted', 1), chainId: ChainId, txHash: Bytes32, fills: Type.Array(Position) });

/** The chain settled the fill. */
export const FillSettled = record({ ...head('FillSettled', 1), ...fill, txHash: Bytes32 });

/**
 * The chain refused the fill: it never happened. Volume, trades and positions that counted it take it back, and both orders'
 * remaining sizes grow by `size`; whether an order is open again is told by the events that follow.
 */
export const FillFailed = record({
  ...head('FillFailed', 1), ...fill, txHash: Bytes32, reason: FailureReason, culprit: Culprit,
});

/**
 * The innocent order of a failed fill is open again, with the `size` that FillFailed gave back to it still to be matched. Matches and
 * OrderRested follow as for a new order.
 */
export const OrderReinstated = record({ ...head('OrderReinstated', 1), ...order, size: Uint64 });

/** Shares moved on the chain outside settlement: minted where `from` is the zero address, burnt where `to` is. */
export const SharesTransferred = record({
  ...head('SharesTransferred', 1), marketId: Bytes32, outcome: MarketOutcome, from: Address, to: Address, amount: Uint256, txHash: Bytes32,
});

/** The user was paid for shares of a resolved market; the shares themselves left by SharesTransferred. */
export const PositionRedeemed = record({ ...head('PositionRedeemed', 1), marketId: Bytes32, user: Address, payout: Uint256, txHash: Bytes32 });

/** The user's shares are these: the chain's balances after all that was recorded before. */
export const PositionSynced = record({
  ...head('PositionSynced', 1), marketId: Bytes32, user: Address, yesShares: Uint256, noShares: Uint256,
});

/** An outcome was asserted at the oracle; it may be disputed until `expirationTime` (Unix seconds). */
export const ResolutionProposed = record({
  ...head('ResolutionProposed', 1), marketId: Bytes32, assertionId: Bytes32, proposer: Address, outcome: MarketOutcome, bond: Uint256,
  assertionTime: Seconds, expirationTime: Seconds,
});

export const ResolutionDisputed = record({ ...head('ResolutionDisputed', 1), marketId: Bytes32, assertionId: Bytes32, disputer: Address });

/** The oracle found the assertion untrue: another one may come. */
export const ResolutionRejected = record({ ...head('ResolutionRejected', 1), marketId: Bytes32, assertionId: Bytes32 });

/** The market has its final outcome. */
export const MarketResolved = record({ ...head('MarketResolved', 1), marketId: Bytes32, winningOutcome: MarketOutcome });

/** Every fact of the chain up to and including this block is in the history. */
export const ChainAdvanced = record({ ...head('ChainAdvanced', 1), chainId: ChainId, block: Position, blockHash: Bytes32 });

/** The same signed order came again: it keeps the answer of `orderNumber`, its first position. */
export const OrderRepeated = record({ ...head('OrderRepeated', 1), orderHash: Bytes32, orderNumber: Position });

/** A cancel of an order that is closed already other than by being filled. */
export const CancelRepeated = record({
  ...head('CancelRepeated', 1), orderHash: Bytes32, orderNumber: Position, size: Uint64, remaining: Uint64,
});

export const RejectionCode = Type.Union([
  Type.Literal('invalid_expiration'), Type.Literal('invalid_size'), Type.Literal('unknown_market'), Type.Literal('market_closed'),
  Type.Literal('duplicate_nonce'), Type.Literal('unknown_order'), Type.Literal('not_order_owner'), Type.Literal('already_filled'),
  Type.Literal('market_exists'), Type.Literal('unknown_fill'), Type.Literal('known_fact'), Type.Literal('nonce_cancelled'),
  Type.Literal('unknown_token'), Type.Literal('market_resolved'), Type.Literal('outdated_sync'),
]);
export type RejectionCode = Type.Static<typeof RejectionCode>;

/** The command changed nothing but a chain's cursor. `subject` is what it was about: an order hash, a market id, a fill number, … */
export const CommandRejected = record({ ...head('CommandRejected', 1), code: RejectionCode, subject: Type.String() });

export type MarketOpened = Type.Static<typeof MarketOpened>;
export type MarketTokenized = Type.Static<typeof MarketTokenized>;
export type MarketClosed = Type.Static<typeof MarketClosed>;
export type MarketResolved = Type.Static<typeof MarketResolved>;
export type OrderAccepted = Type.Static<typeof OrderAccepted>;
export type OrderRested = Type.Static<typeof OrderRested>;
export type FillMatched = Type.Static<typeof FillMatched>;
export type OrderCancelled = Type.Static<typeof OrderCancelled>;
export type NonceFloorRaised = Type.Static<typeof NonceFloorRaised>;
export type SettlementSubmitted = Type.Static<typeof SettlementSubmitted>;
export type FillSettled = Type.Static<typeof FillSettled>;
export type FillFailed = Type.Static<typeof FillFailed>;
export type OrderReinstated = Type.Static<typeof OrderReinstated>;
export type SharesTransferred = Type.Static<typeof SharesTransferred>;
export type PositionRedeemed = Type.Static<typeof PositionRedeemed>;
export type PositionSynced = Type.Static<typeof PositionSynced>;
export type ResolutionProposed = Type.Static<typeof ResolutionProposed>;
export type ResolutionDisputed = Type.Static<typeof ResolutionDisputed>;
export type ResolutionRejected = Type.Static<typeof ResolutionRejected>;
export type ChainAdvanced = Type.Static<typeof ChainAdvanced>;
export type OrderRepeated = Type.Static<typeof OrderRepeated>;
export type CancelRepeated = Type.Static<typeof CancelRepeated>;
export type CommandRejected = Type.Static<typeof CommandRejected>;

export type Event
  = | MarketOpened | MarketTokenized | MarketClosed | MarketResolved | OrderAccepted | OrderRested | FillMatched | OrderCancelled
    | NonceFloorRaised | SettlementSubmitted | FillSettled | FillFailed | OrderReinstated | SharesTransferred | PositionRedeemed
    | PositionSynced | ResolutionProposed | ResolutionDisputed | ResolutionRejected | ChainAdvanced | OrderRepeated | CancelRepeated
    | CommandRejected;

/** Every event type's current schema. */
export const eventSchemas = {
  MarketOpened, MarketTokenized, MarketClosed, MarketResolved, OrderAccepted, OrderRested, FillMatched, OrderCancelled, NonceFloorRaised,
  SettlementSubmitted, FillSettled, FillFailed, OrderReinstated, SharesTransferred, PositionRedeemed, PositionSynced, ResolutionProposed,
  ResolutionDisputed, ResolutionRejected, ChainAdvanced, OrderRepeated, CancelRepeated, CommandRejected,
} as const;
