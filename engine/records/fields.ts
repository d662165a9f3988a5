/** The types of the records' fields, as JSON schemas: for example what an address or an amount may look like. */
import { Type, type Static, type TSchema } from './schema-types.js';
import { ADDRESS, BYTES32, SIGNATURE } from './hex.js';
import { named } from './named-schema.js';

/** 20 bytes as lower-case hex with `0x`. */
export const Address = Type.String({ pattern: ADDRESS.recorded });

/** 32 bytes as lower-case hex with `0x`: market ids, order hashes, digests, transaction hashes. */
export const Bytes32 = Type.String({ pattern: BYTES32.recorded });

/** A 65-byte signature (r, s, v) as lower-case hex with `0x`. */
export const Signature = Type.String({ pattern: SIGNATURE.recorded });

/** An address in a request: digits of any case. The EIP-55 checksum is not checked. */
export const AnyCaseAddress = named('AddressInput', Type.String({ pattern: ADDRESS.given, description: '20 bytes as hex, upper or lower case.' }));

/** 32 bytes in a request: digits of any case. */
export const AnyCaseBytes32 = named('Bytes32Input', Type.String({ pattern: BYTES32.given, description: '32 bytes as hex, upper or lower case.' }));

/** A signature of 65 bytes in a request: digits of any case. */
export const AnyCaseSignature = named('SignatureInput', Type.String({
  pattern: SIGNATURE.given, description: '65 bytes (r, s, v) as hex, upper or lower case.',
}));

/** The recovery id of a signature in a request; 0 and 1, which mean the same, are taken, too. */
export const RecoveryId = named('RecoveryId', Type.Integer({ enum: [27, 28], description: 'Recovery id: 27 or 28.' }));

/**
 * An integer of 0 to 2^64-1 in decimal digits. Records have it as a string, so that every JSON parser keeps it exact.
 */
export const Uint64 = Type.String({ format: 'uint64' });

/** An integer of 0 to 2^256-1 in decimal digits, as a string. */
export const Uint256 = Type.String({ format: 'uint256' });

/** 0 = BUY, 1 = SELL. */
export const Side = Type.Union([Type.Literal(0), Type.Literal(1)]);
export type Side = Static<typeof Side>;
export const BUY: Side = 0;
export const SELL: Side = 1;

/** 0 = YES, 1 = NO. */
export const MarketOutcome = Type.Union([Type.Literal(0), Type.Literal(1)]);
export type MarketOutcome = Static<typeof MarketOutcome>;
export const YES: MarketOutcome = 0;
export const NO: MarketOutcome = 1;

/**
 * What becomes of the part of an order that does not match at once. `GTC`: it rests. `FOK`: the order is rejected, and
 * nothing happens. `FAK`: that part is cancelled.
 */
export const TimeInForce = Type.Union([Type.Literal('GTC'), Type.Literal('FOK'), Type.Literal('FAK')]);
export type TimeInForce = Static<typeof TimeInForce>;

/**
 * Which of two orders of one trader is cancelled when the incoming one meets the resting one. `cancel_older`: the
 * resting one. `cancel_newer`: the one with the higher number, which is the incoming one, unless that was reinstated
 * after a failed fill.
 */
export const SelfTrade = Type.Union([Type.Literal('cancel_older'), Type.Literal('cancel_newer')]);
export type SelfTrade = Static<typeof SelfTrade>;

/** Price in ticks of 1e-6 of the collateral, 1 to 999999. */
export const Price = Type.Integer({ minimum: 1, maximum: 999_999 });

/** Milliseconds since the Unix epoch. */
export const Milliseconds = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Seconds since the Unix epoch. */
export const Seconds = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** A whole number of 32 bits. */
export const Uint32 = Type.Integer({ minimum: 0, maximum: 4_294_967_295 });

/** A market id that stands for all markets: 32 zero bytes. */
export const ALL_MARKETS = `0x${'0'.repeat(64)}`;

/** The most orders that one CancelOrders names. */
export const MAX_CANCELLED_ORDERS = 100;

/** A log position, or another number that counts up from 0 without gaps. */
export const Position = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const ChainId = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

/** A chain's id in a request. */
export const ChainIdInput = { ...ChainId, description: 'Chain identifier.' };

/**
 * The place of a fact on a chain: a chain event of a final block. Facts are recorded in the chain's order, and each
 * counts once.
 */
export const ChainFact = record({ chainId: ChainId, block: Position, logIndex: Position });

export const Category = Type.Union([
  Type.Literal('defi'), Type.Literal('protocol'), Type.Literal('stablecoin'), Type.Literal('general'),
]);
export type Category = Static<typeof Category>;
/** In the order of their numbers in MarketFactory.sol. */
export const CATEGORIES: readonly Category[] = Category.anyOf.map((each) => each.const);

export const MarketKind = Type.Union([Type.Literal('standard'), Type.Literal('quick')]);

/** The asset whose price decides a quick market: BTC, ETH. */
export const Asset = Type.String({ pattern: '^[A-Z0-9]{1,16}$' });

/** A price of an asset in units of 1e-8 US dollars, 1 to 2^63-1, in decimal digits. */
export const AssetPrice = Type.String({ format: 'asset_price' });

/** Where a price comes from: pyth, coinbase, binance, simulated. */
export const PriceSourceName = Type.String({ pattern: '^[a-z0-9_-]{1,32}$' });

/** A price source's place in the operators' order of preference: 0 is the best. */
export const PriceRank = Type.Integer({ minimum: 0, maximum: 9 });

/** Why the chain refused a fill: the reasons of `GET /api/v1/failed-trades`. */
export const FailureReason = Type.Union([
  Type.Literal('buyer_insufficient_balance'), Type.Literal('buyer_insufficient_allowance'),
  Type.Literal('seller_insufficient_shares'), Type.Literal('seller_not_approved'),
  Type.Literal('order_expired'), Type.Literal('order_cancelled'), Type.Literal('overfill'),
  Type.Literal('market_resolved'), Type.Literal('invalid_signature'), Type.Literal('transfer_rejected'),
  Type.Literal('transaction_reverted'), Type.Literal('unknown'),
]);
export type FailureReason = Static<typeof FailureReason>;

/** Whose order made a fill fail. `both` also means that neither order alone is the cause. */
export const Culprit = Type.Union([Type.Literal('buyer'), Type.Literal('seller'), Type.Literal('both')]);
export type Culprit = Static<typeof Culprit>;

/** What a relayed transaction does: the names are the paths of `POST /api/v1/relayer/…`. */
export const RelayAction = Type.Union([
  Type.Literal('ctf-approval'), Type.Literal('usdc-permit'), Type.Literal('ctf-redemption'), Type.Literal('batch-ctf-redemption'),
  Type.Literal('propose-resolution'), Type.Literal('settle-market'), Type.Literal('ctf-split'), Type.Literal('ctf-merge'),
]);
export type RelayAction = Static<typeof RelayAction>;

/** The most redemptions per relayed transaction. */
export const MAX_CLAIMS = 20;

/** A redemption that a user has asked the relayer for: the expected payout in units of 1e-6 of the collateral. */
export const Claim = record({ marketId: Bytes32, payout: Uint256, winningOutcome: MarketOutcome });
export type Claim = Static<typeof Claim>;

/** An object schema that refuses unknown fields. */
export function record<T extends Record<string, TSchema>>(properties: T) {
  return Type.Object(properties, { additionalProperties: false });
}

export type ChainFact = Static<typeof ChainFact>;
