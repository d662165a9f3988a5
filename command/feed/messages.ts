/**
 * The messages of the fill feed: what a settlement worker needs of the history, and nothing else. One schema per
 * message gives its type, its validation and its documentation. Integers beyond 2^53 are decimal strings, as in the
 * log.
 */
import { Type, type Static, type TProperties } from '../../engine/records/schema-types.js';
import { recordId } from '../../engine/run/new-record.js';
import { MalformedRecord, parseShape, shapes } from '../../engine/records/codec.js';
import * as events from '../../engine/records/events.js';
import { Address, Bytes32, ChainId, MarketKind, Milliseconds, Position, Seconds, record } from '../../engine/records/fields.js';
import { described, type DescribedProperties } from './message-fields.js';

/**
 * For good: another number would give every message another place. A market's messages are all in partition
 * `partitionOf(marketId)`; a chain's are in every partition.
 */
export const PARTITIONS = 8;

/** A message's schema. Every message has these fields besides its own; the descriptions are in `message-fields.ts`. */
function message<T extends string, P extends DescribedProperties<P> & TProperties>(
  type: T, description: string, properties: P,
) {
  const head = { type: Type.Literal(type), v: Type.Literal(1), position: Position, at: Milliseconds };
  return { ...record(described({ ...head, ...properties })), description };
}

export const MarketOpenedMessage = message('MarketOpened', 'A market takes orders. The message comes before the market\'s fills, in the same partition.', {
  chainId: ChainId, marketId: Bytes32, contractAddress: Address, maker: Address, expiration: Seconds,
  marketKind: MarketKind,
});

export const FillMatchedMessage = message('FillMatched', 'Two orders matched: the fill waits for its settlement.', {
  chainId: ChainId, ...Type.Omit(events.FillMatched, ['type', 'v']).properties,
});

export const FillSettledMessage = message('FillSettled', 'The chain settled the fill.', {
  chainId: ChainId, ...Type.Omit(events.FillSettled, ['type', 'v']).properties,
});

export const FillFailedMessage = message('FillFailed', 'The chain refused the fill: the trade never happened.', {
  chainId: ChainId, ...Type.Omit(events.FillFailed, ['type', 'v']).properties,
});

export const ChainAdvancedMessage = message('ChainAdvanced', 'A barrier: this partition has had every message about the chain up to and including this block. '
  + 'The message is in every partition, and a chain has got as far as the least of its barriers over all partitions.',
Type.Omit(events.ChainAdvanced, ['type', 'v']).properties);

export const messageSchemas = {
  MarketOpened: MarketOpenedMessage, FillMatched: FillMatchedMessage, FillSettled: FillSettledMessage,
  FillFailed: FillFailedMessage,
  ChainAdvanced: ChainAdvancedMessage,
} as const;

export type MarketOpenedMessage = Static<typeof MarketOpenedMessage>;
export type FillMatchedMessage = Static<typeof FillMatchedMessage>;
export type FillSettledMessage = Static<typeof FillSettledMessage>;
export type FillFailedMessage = Static<typeof FillFailedMessage>;
export type ChainAdvancedMessage = Static<typeof ChainAdvancedMessage>;
export type FeedMessage = MarketOpenedMessage | FillMatchedMessage | FillSettledMessage | FillFailedMessage | ChainAdvancedMessage;

/** A message at its place. The place, like the message, is a function of the history alone. */
export interface SequencedMessage {
  /** 0 to PARTITIONS - 1. */
  readonly partition: number;
  /** The message's number in its partition: dense from 0. */
  readonly seq: number;
  readonly message: FeedMessage;
  /** Of the history up to and including the message's position. */
  readonly digest: string;
}

/** What of a message says where it goes, whatever its version. */
interface Encodable extends Pick<SequencedMessage, 'partition' | 'seq' | 'digest'> {
  readonly message: Pick<FeedMessage, 'type' | 'position' | 'at'> & { readonly v: number; readonly marketId?: string; readonly fill?: number };
}

/** A message as a transport of bytes carries it. */
export interface EncodedMessage {
  /** The market id; null for a message about a chain. */
  readonly key: string | null;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Such a message with its partition. */
export type AddressedMessage = EncodedMessage & Pick<SequencedMessage, 'partition'>;

/** A message as it comes back from such a transport. */
export interface ReceivedMessage {
  readonly partition: number;
  readonly value: Uint8Array;
  readonly headers: Readonly<Record<string, Uint8Array | string | undefined>>;
}

/**
 * The partition of a market: the last four bytes of its id as an unsigned integer, modulo PARTITIONS. Anyone can
 * compute it.
 */
export function partitionOf(marketId: string): number {
  return Number.parseInt(marketId.slice(-8), 16) % PARTITIONS;
}

const messageShapes = shapes(messageSchemas, {});

/**
 * The message's bytes and headers: `event-id` (the same for every copy of the message), `seq`, `position`, `digest`,
 * `schema` (type and version), and `fill` for a message about one. `table` has the shapes of the topic. Throws
 * MalformedRecord.
 */
export function encodeMessage({ partition, seq, message, digest }: Encodable, table = messageShapes): EncodedMessage {
  parseShape(table, message.type, message);
  return {
    key: message.marketId ?? null,
    value: Buffer.from(JSON.stringify(message)),
    headers: {
      'event-id': eventId({ partition, seq, digest }), 'seq': String(seq), 'position': String(message.position), digest, 'schema': `${message.type}/${message.v}`,
      ...message.fill === undefined ? {} : { fill: String(message.fill) },
    },
  };
}

/** The messages as `fills.v1` has them. */
export function encodeMessages(messages: readonly SequencedMessage[]): Promise<readonly AddressedMessage[]> {
  return Promise.resolve(messages.map((each) => ({ partition: each.partition, ...encodeMessage(each) })));
}

/**
 * The message in the bytes and headers. Throws MalformedRecord: this program cannot use the message, and must not skip
 * it either.
 */
export function decodeMessage({ partition, value, headers }: ReceivedMessage): SequencedMessage {
  const seq = Number(header(headers, 'seq'));
  const digest = header(headers, 'digest');
  if (!Number.isSafeInteger(seq) || seq < 0 || header(headers, 'event-id') !== eventId({ partition, seq, digest })) {
    throw new MalformedRecord(`a message's headers do not belong together: seq ${header(headers, 'seq')} of partition ${partition}`);
  }
  const parsed = parseJson(value);
  const message = parseShape(messageShapes, parsed['type'], parsed) as unknown as FeedMessage;
  if (header(headers, 'position') !== String(message.position)) throw new MalformedRecord(`message ${seq} of partition ${partition} has two positions`);
  return { partition, seq, message, digest };
}

/** The digest covers the whole history, so no message of another history has the same id. */
function eventId({ partition, seq, digest }: Pick<SequencedMessage, 'partition' | 'seq' | 'digest'>): string {
  return recordId(`feed:${digest}:${partition}:${seq}`);
}

function header(headers: ReceivedMessage['headers'], name: string): string {
  const value = headers[name];
  if (value === undefined) throw new MalformedRecord(`a message has no header ${name}`);
  return typeof value === 'string' ? value : Buffer.from(value).toString();
}

function parseJson(value: Uint8Array): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(value).toString());
    if (typeof parsed === 'object' && parsed !== null) return parsed as Record<string, unknown>;
  } catch (cause) {
    throw new MalformedRecord('a message is not JSON', { cause });
  }
  throw new MalformedRecord('a message is one JSON object');
}
