/** The commands: everything that may change the exchange. A schema gives the type, the validation and the documentation. */
import Type from 'typebox';
import {
  Address, Bytes32, Category, ChainId, Culprit, FailureReason, MarketKind, Milliseconds, Outcome, Price, Seconds, Side, Signature,
  Uint256, Uint64, record,
} from './fields.js';

const head = <K extends string, V extends number>(kind: K, v: V) => ({
  kind: Type.Literal(kind),
  /** Version of this kind's shape; older ones are upcast when read. */
  v: Type.Literal(v),
  /** When the writer made the command. The engine's time is the highest `at` it has seen. */
  at: Milliseconds,
});

/** An ERC-2612 permit that came with an order, used in the batch that settles the order's first fill. */
export const Permit = record({
  nonce: Uint64, value: Uint256, deadline: Uint64, v: Type.Union([Type.Literal(27), Type.Literal(28)]), r: Bytes32, s: Bytes32,
});

export const OpenMarket = record({
  ...head('OpenMarket', 1),
  marketId: Bytes32,
  question: Type.String({ minLength: 1, maxLength: 1_000 }),
  description: Type.String({ maxLength: 10_000 }),
  category: Category,
  contractAddress: Address,
  maker: Address,
  expiration: Seconds,
  chainId: ChainId,
  marketKind: MarketKind,
});

/** A signed order whose signature the writer has verified. `makerFeeRecipient` is always the zero address, so it is not recorded. */
export const PlaceOrder = record({
  ...head('PlaceOrder', 1),
  orderHash: Bytes32,
  marketId: Bytes32,
  trader: Address,
  side: Side,
  outcome: Outcome,
  price: Price,
  size: Uint64,
  nonce: Uint64,
  expiration: Uint64,
  signature: Signature,
  permit: Type.Optional(Permit),
});

/** `trader` is who signed the cancel; absent where the service lets anybody cancel (a loopback development stack). */
export const CancelOrder = record({
  ...head('CancelOrder', 1),
  orderHash: Bytes32,
  marketId: Bytes32,
  /** Absent: any side. */
  side: Type.Optional(Side),
  trader: Type.Optional(Address),
  signature: Type.Optional(Signature),
  deadline: Type.Optional(Uint64),
});

/** Time passes: expired orders and closed markets are swept. */
export const AdvanceClock = record({ ...head('AdvanceClock', 1) });

/** The chain has settled a fill, at final depth. */
export const SettleFill = record({ ...head('SettleFill', 1), fill: Type.Integer({ minimum: 0 }), txHash: Bytes32 });

/** The chain has refused a fill, at final depth. */
export const FailFill = record({
  ...head('FailFill', 1), fill: Type.Integer({ minimum: 0 }), txHash: Bytes32, reason: FailureReason, culprit: Culprit,
});

export type Permit = Type.Static<typeof Permit>;
export type OpenMarket = Type.Static<typeof OpenMarket>;
export type PlaceOrder = Type.Static<typeof PlaceOrder>;
export type CancelOrder = Type.Static<typeof CancelOrder>;
export type AdvanceClock = Type.Static<typeof AdvanceClock>;
export type SettleFill = Type.Static<typeof SettleFill>;
export type FailFill = Type.Static<typeof FailFill>;

export type Command = OpenMarket | PlaceOrder | CancelOrder | AdvanceClock | SettleFill | FailFill;

/** Every command kind's current schema. */
export const commandSchemas = { OpenMarket, PlaceOrder, CancelOrder, AdvanceClock, SettleFill, FailFill } as const;
