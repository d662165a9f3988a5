/** The events: everything that anyone ever sees. The outcome of a command is a list of these; read models are made of nothing else. */
import Type from 'typebox';
import {
  Address, Bytes32, Category, ChainId, Culprit, FailureReason, MarketKind, Outcome, Position, Price, Seconds, Side, Uint64, record,
} from './fields.js';

const head = <T extends string, V extends number>(type: T, v: V) => ({ type: Type.Literal(type), v: Type.Literal(v) });

/** The parts of an order that every event about it names. `orderNumber` is the log position of its PlaceOrder: its time priority. */
const order = { orderHash: Bytes32, orderNumber: Position, marketId: Bytes32, side: Side, outcome: Outcome, price: Price };

/** The parts of a fill that every event about it names. `cost` = ceil(size x price / 1e6), in collateral units of 1e-6. */
const fill = {
  /** Dense from 0 in a shard: the settlement contract's replay protection. */
  fill: Position,
  marketId: Bytes32,
  outcome: Outcome,
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

/** A market's expiration has passed: it takes no more orders, and those it has are cancelled (`market_closed`) from here on. */
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

/** The same signed order came again: it keeps the answer of `orderNumber`, its first position. */
export const OrderRepeated = record({ ...head('OrderRepeated', 1), orderHash: Bytes32, orderNumber: Position });

/** A cancel of an order that is closed already other than by being filled. */
export const CancelRepeated = record({
  ...head('CancelRepeated', 1), orderHash: Bytes32, orderNumber: Position, size: Uint64, remaining: Uint64,
});

export const RejectionCode = Type.Union([
  Type.Literal('invalid_expiration'), Type.Literal('invalid_size'), Type.Literal('unknown_market'), Type.Literal('market_closed'),
  Type.Literal('duplicate_nonce'), Type.Literal('unknown_order'), Type.Literal('not_order_owner'), Type.Literal('already_filled'),
  Type.Literal('market_exists'), Type.Literal('unknown_fill'),
]);
export type RejectionCode = Type.Static<typeof RejectionCode>;

/** The command changed nothing. `subject` is the order hash, market id or fill number that it was about. */
export const CommandRejected = record({ ...head('CommandRejected', 1), code: RejectionCode, subject: Type.String() });

export type MarketOpened = Type.Static<typeof MarketOpened>;
export type MarketClosed = Type.Static<typeof MarketClosed>;
export type OrderAccepted = Type.Static<typeof OrderAccepted>;
export type OrderRested = Type.Static<typeof OrderRested>;
export type FillMatched = Type.Static<typeof FillMatched>;
export type OrderCancelled = Type.Static<typeof OrderCancelled>;
export type FillSettled = Type.Static<typeof FillSettled>;
export type FillFailed = Type.Static<typeof FillFailed>;
export type OrderReinstated = Type.Static<typeof OrderReinstated>;
export type OrderRepeated = Type.Static<typeof OrderRepeated>;
export type CancelRepeated = Type.Static<typeof CancelRepeated>;
export type CommandRejected = Type.Static<typeof CommandRejected>;

export type Event
  = | MarketOpened | MarketClosed | OrderAccepted | OrderRested | FillMatched | OrderCancelled | FillSettled | FillFailed
    | OrderReinstated | OrderRepeated | CancelRepeated | CommandRejected;

/** Every event type's current schema. */
export const eventSchemas = {
  MarketOpened, MarketClosed, OrderAccepted, OrderRested, FillMatched, OrderCancelled, FillSettled, FillFailed, OrderReinstated,
  OrderRepeated, CancelRepeated, CommandRejected,
} as const;
