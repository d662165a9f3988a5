/**
 * The commands: only a command can change the exchange. Each schema gives a type, its validation and its documentation.
 */
import { Type, type Static } from './schema-types.js';
import {
  Address, Asset, AssetPrice, Bytes32, Category, ChainFact, ChainId, Claim, Culprit, FailureReason,
  MAX_CANCELLED_ORDERS, MAX_CLAIMS, MarketKind,
  Milliseconds, MarketOutcome, Position, Price, PriceRank, PriceSourceName, RelayAction, Seconds, Side, Signature, Uint256,
  Uint32, Uint64, record,
} from './fields.js';

const head = <K extends string, V extends number>(kind: K, v: V) => ({
  kind: Type.Literal(kind),
  /** Version of this kind's shape. Records of older versions are upcast when read. */
  v: Type.Literal(v),
  /** When the writer made the command. The engine's time is the highest `at` of all commands so far. */
  at: Milliseconds,
});

/** The chain event that a command reports. Absent in a stack without a chain. */
const fact = { fact: Type.Optional(ChainFact) };

/** An ERC-2612 permit that was sent with an order. The batch that settles the order's first fill uses it. */
export const OrderPermit = record({
  nonce: Uint64, value: Uint256, deadline: Uint64, v: Type.Union([Type.Literal(27), Type.Literal(28)]), r: Bytes32,
  s: Bytes32,
});
export type OrderPermit = Static<typeof OrderPermit>;

/** Version 2 knows what a quick market is about, version 3 what becomes of a market that is recorded after its end. */
export const OpenMarket = record({
  ...head('OpenMarket', 3),
  marketId: Bytes32,
  question: Type.String({ minLength: 1, maxLength: 1_000 }),
  description: Type.String({ maxLength: 10_000 }),
  category: Category,
  contractAddress: Address,
  maker: Address,
  expiration: Seconds,
  chainId: ChainId,
  marketKind: MarketKind,
  /** ERC-1155 ids of the market's shares, as 32 bytes. */
  tokens: Type.Optional(record({ yes: Bytes32, no: Bytes32 })),
  /** A quick market: YES wins if the asset's price at the expiration is not below its price at `startTime`. */
  quick: Type.Optional(record({ asset: Asset, startTime: Seconds })),
  /**
   * When the expiration has passed: the market is opened and closed at once, or the command is rejected, as those of
   * versions 1 and 2 are.
   */
  ifOver: Type.Union([Type.Literal('close'), Type.Literal('reject')]),
  ...fact,
});
export type OpenMarket = Static<typeof OpenMarket>;

/**
 * A signed order whose signature the writer has verified. `makerFeeRecipient` is always the zero address, so it is not
 * recorded. Version 2 has the order's terms, which its trader's signature does not cover. A term is recorded only where
 * it differs from the default.
 */
export const PlaceOrder = record({
  ...head('PlaceOrder', 2),
  orderHash: Bytes32,
  marketId: Bytes32,
  trader: Address,
  side: Side,
  outcome: MarketOutcome,
  price: Price,
  size: Uint64,
  nonce: Uint64,
  expiration: Uint64,
  signature: Signature,
  permit: Type.Optional(OrderPermit),
  /** Absent: GTC. */
  timeInForce: Type.Optional(Type.Union([Type.Literal('FOK'), Type.Literal('FAK')])),
  /** The order never takes: it is rejected if it would match at once. */
  postOnly: Type.Optional(Type.Literal(true)),
  /** The order is rejected at a later time than this. */
  notAfter: Type.Optional(Milliseconds),
  /** Absent: `cancel_older`. */
  selfTrade: Type.Optional(Type.Literal('cancel_newer')),
});
export type PlaceOrder = Static<typeof PlaceOrder>;

/**
 * `trader` signed the cancel, or sent it to the chain. Absent where the service lets anybody cancel (a loopback
 * development stack).
 */
export const CancelOrder = record({
  ...head('CancelOrder', 1),
  orderHash: Bytes32,
  marketId: Bytes32,
  /** Absent: the order may be on either side. */
  side: Type.Optional(Side),
  trader: Type.Optional(Address),
  signature: Type.Optional(Signature),
  deadline: Type.Optional(Uint64),
  ...fact,
});
export type CancelOrder = Static<typeof CancelOrder>;

/**
 * What the trader signed beside the request's own fields. Absent where the service lets anybody cancel (a loopback
 * development stack). The writer has verified the signature.
 */
const signed = { signature: Type.Optional(Signature), deadline: Type.Optional(Uint64) };

/** The trader cancels these orders on the chain. */
export const CancelOrders = record({
  ...head('CancelOrders', 1), chainId: ChainId, trader: Address,
  orderHashes: Type.Array(Bytes32, { minItems: 1, maxItems: MAX_CANCELLED_ORDERS }), ...signed,
});
export type CancelOrders = Static<typeof CancelOrders>;

/** The trader cancels all open orders in a market of the chain, or, with ALL_MARKETS, in all markets of the chain. */
export const CancelAll = record({ ...head('CancelAll', 1), chainId: ChainId, trader: Address, marketId: Bytes32, ...signed });
export type CancelAll = Static<typeof CancelAll>;

/**
 * All of the trader's orders on the chain are cancelled when so many seconds have passed, unless the trader asks again
 * before; 0: they are not.
 */
export const CancelAfter = record({ ...head('CancelAfter', 1), chainId: ChainId, trader: Address, seconds: Uint32, ...signed });
export type CancelAfter = Static<typeof CancelAfter>;

/** The order's size is this from now on, filled part included; `trader` signed it. */
export const ReduceOrder = record({ ...head('ReduceOrder', 1), orderHash: Bytes32, size: Uint64, trader: Type.Optional(Address), ...signed });
export type ReduceOrder = Static<typeof ReduceOrder>;

/** The trader has cancelled on the chain all orders with nonces below `belowNonce`. */
export const CancelOrdersBelow = record({
  ...head('CancelOrdersBelow', 1), chainId: ChainId, trader: Address, belowNonce: Uint64, ...fact,
});
export type CancelOrdersBelow = Static<typeof CancelOrdersBelow>;

/** Time has passed: the engine cancels expired orders, and the orders of closed markets. */
export const AdvanceClock = record({ ...head('AdvanceClock', 1) });
export type AdvanceClock = Static<typeof AdvanceClock>;

/** A transaction that settles these fills, in this order, has been signed; the lane sends it next. */
export const SubmitSettlement = record({
  ...head('SubmitSettlement', 1), chainId: ChainId, txHash: Bytes32, fills: Type.Array(Position, { minItems: 1, maxItems: 1_000 }),
});
export type SubmitSettlement = Static<typeof SubmitSettlement>;

/** The chain has settled a fill, at final depth. */
export const SettleFill = record({ ...head('SettleFill', 1), fill: Position, txHash: Bytes32, ...fact });
export type SettleFill = Static<typeof SettleFill>;

/**
 * The chain has refused a fill, at final depth. Version 2 says whether the failure counts as a default; those of
 * version 1 do not.
 */
export const FailFill = record({
  ...head('FailFill', 2), fill: Position, txHash: Bytes32, reason: FailureReason, culprit: Culprit, countDefault: Type.Boolean(), ...fact,
});
export type FailFill = Static<typeof FailFill>;

/**
 * Shares moved on the chain outside settlement. A split mints them from the zero address; a merge or redemption burns
 * them to it.
 */
export const RecordTransfer = record({
  ...head('RecordTransfer', 1), chainId: ChainId, from: Address, to: Address, txHash: Bytes32,
  /** Amounts by ERC-1155 id, each id once. */
  items: Type.Array(record({ token: Bytes32, amount: Uint256 }), { minItems: 1, maxItems: 256 }), ...fact,
});
export type RecordTransfer = Static<typeof RecordTransfer>;

/**
 * A user has redeemed shares of a resolved market for `payout` of collateral. A separate RecordTransfer reports the
 * burnt shares.
 */
export const RecordRedemption = record({
  ...head('RecordRedemption', 1), marketId: Bytes32, user: Address, payout: Uint256, txHash: Bytes32, ...fact,
});
export type RecordRedemption = Static<typeof RecordRedemption>;

/** Somebody has asserted a market's outcome at the oracle; times in Unix seconds. */
export const RecordProposal = record({
  ...head('RecordProposal', 1), marketId: Bytes32, assertionId: Bytes32, proposer: Address, outcome: MarketOutcome, bond: Uint256,
  assertionTime: Seconds, expirationTime: Seconds, ...fact,
});
export type RecordProposal = Static<typeof RecordProposal>;

/** Somebody has disputed the assertion. */
export const RecordDispute = record({ ...head('RecordDispute', 1), marketId: Bytes32, assertionId: Bytes32, disputer: Address, ...fact });
export type RecordDispute = Static<typeof RecordDispute>;

/** The oracle has found the assertion untrue, or the assertion was abandoned because the oracle could not settle it. */
export const RecordRejection = record({ ...head('RecordRejection', 1), marketId: Bytes32, assertionId: Bytes32, ...fact });
export type RecordRejection = Static<typeof RecordRejection>;

/** The market's final outcome is on the chain. */
export const ResolveMarket = record({ ...head('ResolveMarket', 1), marketId: Bytes32, winningOutcome: MarketOutcome, ...fact });
export type ResolveMarket = Static<typeof ResolveMarket>;

/** The chain pays each share of either outcome one half: the way out for a market that cannot be resolved honestly. */
export const HalveMarket = record({ ...head('HalveMarket', 1), marketId: Bytes32, ...fact });
export type HalveMarket = Static<typeof HalveMarket>;

/**
 * A price source has published a price. `rank` is the source's place in the operators' order of preference, 0 the best;
 * `publishedAt` is the source's time, in milliseconds since the Unix epoch.
 */
export const RecordPrice = record({
  ...head('RecordPrice', 1), asset: Asset, source: PriceSourceName, rank: PriceRank, price: AssetPrice,
  publishedAt: Milliseconds,
});
export type RecordPrice = Static<typeof RecordPrice>;

/** Every fact up to and including this final block has been recorded. */
export const AdvanceChain = record({ ...head('AdvanceChain', 1), chainId: ChainId, block: Position, blockHash: Bytes32 });
export type AdvanceChain = Static<typeof AdvanceChain>;

/**
 * A transaction has anchored a digest that is not this history's, and the operators have decided to pass that anchor
 * over: its sender's key had leaked. Only a record: nothing depends on it.
 */
export const PassOverAnchor = record({
  ...head('PassOverAnchor', 1), chainId: ChainId, txHash: Bytes32,
  /** What was anchored. The position may be one that this history never had. */
  position: Uint64, digest: Bytes32, ...fact,
});
export type PassOverAnchor = Static<typeof PassOverAnchor>;

/** A user's balances on the chain at the end of `block`. Valid only while no later block has been recorded. */
export const SyncPosition = record({
  ...head('SyncPosition', 1), marketId: Bytes32, user: Address, yesShares: Uint256, noShares: Uint256, block: Position,
});
export type SyncPosition = Static<typeof SyncPosition>;

/**
 * A user has signed what the relayer is to bring to the chain. `requestId` is the EIP-712 digest of the signed message,
 * so that it also covers the message's nonce. `claims` are the redemptions that the transaction makes; other actions
 * have none.
 */
export const RequestRelay = record({
  ...head('RequestRelay', 1), requestId: Bytes32, chainId: ChainId, action: RelayAction, owner: Address,
  claims: Type.Array(Claim, { maxItems: MAX_CLAIMS }),
});
export type RequestRelay = Static<typeof RequestRelay>;

/** A transaction that does what the request asks for has been signed; the lane sends it next. */
export const SubmitRelay = record({ ...head('SubmitRelay', 1), requestId: Bytes32, chainId: ChainId, txHash: Bytes32 });
export type SubmitRelay = Static<typeof SubmitRelay>;

/**
 * The request has ended, at final depth. `txHash` is the transaction that ended it, absent if none was sent. There is
 * one result per claim, or a single one for the whole request. A result tells whether the state on the chain is as the
 * user asked, whoever brought it about.
 */
export const EndRelay = record({
  ...head('EndRelay', 1), requestId: Bytes32, chainId: ChainId, txHash: Type.Optional(Bytes32),
  results: Type.Array(
    record({ succeeded: Type.Boolean(), reason: Type.Optional(Type.String({ maxLength: 200 })) }),
    { minItems: 1, maxItems: MAX_CLAIMS },
  ),
});
export type EndRelay = Static<typeof EndRelay>;

/** The table of commands: every kind's current schema. */
export const commandSchemas = {
  OpenMarket, PlaceOrder, CancelOrder, CancelOrders, CancelAll, CancelAfter, ReduceOrder, CancelOrdersBelow,
  AdvanceClock, SubmitSettlement,
  SettleFill, FailFill, RecordTransfer, RecordRedemption, RecordProposal, RecordDispute, RecordRejection, ResolveMarket,
  HalveMarket,
  AdvanceChain, PassOverAnchor, SyncPosition, RecordPrice, RequestRelay, SubmitRelay, EndRelay,
} as const;

export type CommandKind = keyof typeof commandSchemas;
export type Command = { readonly [K in CommandKind]: Static<(typeof commandSchemas)[K]> }[CommandKind];
