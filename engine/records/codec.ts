/**
 * Records as bytes, their ids, and the digests that make changes to the history detectable (docs/matching-rules.md,
 * "Digest").
 *
 * Records are UTF-8 JSON, one object per record. Integers beyond 2^53 are decimal strings, so that every JSON parser
 * reads them exactly. A record that does not match its schema is never written, and is never skipped when read.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ValidateFunction } from 'ajv';
import { MAX_RECORD_BYTES, RecordTooLarge } from '../log/log.js';
import { commandSchemas, type Command } from './commands.js';
import { eventSchemas, MarketOpenedV1, type Event } from './events.js';
import type { TSchema } from './schema-types.js';
import { compileSchema, explain } from './schema.js';

/** This program cannot use the record: the shape is wrong, or the kind or version is unknown. */
export class MalformedRecord extends Error {
  constructor(what: string, options?: ErrorOptions) {
    super(what, options);
    this.name = 'MalformedRecord';
  }
}

/** What one command caused: `at` is the engine time in milliseconds, `events` are in order. */
export interface CommandOutcome {
  readonly at: number;
  readonly events: readonly Event[];
}

/** A recorded outcome. `digest` covers the whole history up to and including this outcome (64 hex digits with `0x`). */
export interface RecordedOutcome extends CommandOutcome {
  readonly digest: string;
}

type Json = Record<string, unknown>;

/** Turns a record of version `v` into one of version `v + 1`. */
export type Upcast = (record: Json) => Json;

interface Shape {
  readonly version: number;
  /**
   * Compiled when the first such record comes: compiling all of them takes half a second, which every process and
   * thread would pay at its start.
   */
  readonly validate: () => ValidateFunction;
  readonly upcasts: Readonly<Record<number, Upcast>>;
}

/** Upcasts by command kind or event type, then by the version that they convert. */
const upcasts: Readonly<Record<string, Readonly<Record<number, Upcast>>>> = {
  OpenMarket: { 1: (record) => ({ ...record, v: 2 }), 2: (record) => ({ ...record, v: 3, ifOver: 'reject' }) },
  PlaceOrder: { 1: (record) => ({ ...record, v: 2 }) },
  FailFill: { 1: (record) => ({ ...record, v: 2, countDefault: false }) },
  MarketOpened: { 1: (record) => ({ ...record, v: 2, quick: null }) },
};

const commandShapes = shapes(commandSchemas, upcasts);
const eventShapes = shapes(eventSchemas, upcasts);

/** The validator and upcasts of each schema. `schemas` has the current schema per command kind or event type. */
export function shapes(
  schemas: Readonly<Record<string, TSchema>>, chains: Readonly<Record<string, Readonly<Record<number, Upcast>>>>,
): ReadonlyMap<string, Shape> {
  return new Map(Object.entries(schemas).map(([name, schema]) => {
    const version = (schema as unknown as { properties: { v: { const: number } } }).properties.v.const;
    let validate: ValidateFunction | undefined;
    return [name, { version, validate: () => validate ??= compileSchema(schema), upcasts: chains[name] ?? {} }];
  }));
}

/** Converts a parsed record to its kind's current version and validates it. Throws MalformedRecord. */
export function parseShape(table: ReadonlyMap<string, Shape>, name: unknown, value: unknown): Json {
  const shape = typeof name === 'string' ? table.get(name) : undefined;
  if (shape === undefined) throw new MalformedRecord(`unknown kind of record: ${JSON.stringify(name)}; a newer version of this program wrote it`);
  let record = value as Json;
  while (record['v'] !== shape.version) {
    const upcast = shape.upcasts[record['v'] as number];
    if (upcast === undefined) {
      throw new MalformedRecord(`${String(name)} has version ${JSON.stringify(record['v'])}; this program knows up to ${shape.version}`);
    }
    record = upcast(record);
  }
  const validate = shape.validate();
  if (!validate(record)) throw new MalformedRecord(`${String(name)} is malformed: ${explain(validate)}`);
  return record;
}

/** The bytes of a command. Throws MalformedRecord or RecordTooLarge; such a command must not be written. */
export function encodeCommand(command: Command): Buffer {
  parseShape(commandShapes, command.kind, command);
  const data = Buffer.from(JSON.stringify(command));
  if (data.length > MAX_RECORD_BYTES) throw new RecordTooLarge(data.length);
  return data;
}

/** The command in a record's bytes, in the current version. Throws MalformedRecord. */
export function decodeCommand(data: Uint8Array): Command {
  const value = parseJson(data);
  return parseShape(commandShapes, value['kind'], value) as unknown as Command;
}

/** The bytes of an outcome record, made from the outcome's text and digest. Throws RecordTooLarge. */
export function encodeOutcome(text: string, digest: string): Buffer {
  const data = Buffer.from(`${text.slice(0, -1)},"digest":"${digest}"}`);
  if (data.length > MAX_RECORD_BYTES) throw new RecordTooLarge(data.length);
  return data;
}

/** The outcome in a record's bytes, its events in their current versions. Throws MalformedRecord. */
export function decodeOutcome(data: Uint8Array): RecordedOutcome {
  const value = parseJson(data);
  const { at, events, digest } = value;
  if (typeof at !== 'number' || typeof digest !== 'string' || !Array.isArray(events)) {
    throw new MalformedRecord('an outcome must have at, events and digest');
  }
  for (let i = 0; i < events.length; i++) {
    events[i] = parseShape(eventShapes, (events[i] as Json | null)?.['type'], events[i]);
  }
  return { at, events: events as Event[], digest };
}

const NAMESPACE = Buffer.from('6f1b0e4a9d4f4b7e8a3cb6d0f2c51e77', 'hex');

/**
 * The UUIDv5 (RFC 9562) of a record's natural key in this exchange's namespace. The same key always gives the same id.
 */
export function recordId(naturalKey: string): string {
  const id = hash('sha1', Buffer.concat([NAMESPACE, Buffer.from(naturalKey)]), 'buffer');
  id.writeUInt8((id.readUInt8(6) & 0x0f) | 0x50, 6);
  id.writeUInt8((id.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = id.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * The id of a command that may come again with the same content, such as an order that is sent twice: its key has a
 * part of the writer's own, so nobody can compute it from the command. That a changed digit is found all the same, it
 * has a check of itself. A UUID of version 8.
 */
export function checkedRecordId(naturalKey: string): string {
  return withCheck(recordId(naturalKey));
}

const CHECK_AT = 28;

/** The id with version 8, and with the check in its last eight digits: the CRC-32 of the 28 characters before them. */
export function withCheck(id: string): string {
  const checked = `${id.slice(0, 14)}8${id.slice(15, CHECK_AT)}`;
  return `${checked}${crc32(checked).toString(16).padStart(8, '0')}`;
}

/** Whether `withCheck` gives this id, which it would take twice as long to make. */
export function isChecked(id: string): boolean {
  const check = id.slice(CHECK_AT);
  return id[14] === '8' && crc32(id.slice(0, CHECK_AT)) === Number(`0x${check}`) && check === check.toLowerCase();
}

function parseJson(data: Uint8Array): Json {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString());
  } catch (cause) {
    throw new MalformedRecord('the record is not JSON', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new MalformedRecord('a record must be one JSON object');
  return value as Json;
}

type Writer = (event: Event) => string;

interface PropertySchema {
  readonly const?: unknown;
  readonly type?: string;
  readonly pattern?: string;
  readonly format?: string;
  readonly anyOf?: readonly PropertySchema[];
}

const writers = Object.fromEntries(
  Object.entries(eventSchemas).map(([type, schema]) => [type, compileWriter(schema)]),
) as Readonly<Record<Event['type'], Writer>>;

const writeOpened = compileWriter(MarketOpenedV1);

/**
 * The text that the digest covers and that `/api/v1/events` shows: `{"at":…,"events":[…]}`. Keys are in the schemas'
 * order; each event has all fields of its schema.
 */
export function outcomeText(outcome: CommandOutcome): string {
  const { events } = outcome;
  let text = `{"at":${outcome.at},"events":[`;
  let separator = '';
  for (const event of events) {
    text += separator + writerOf(event)(event);
    separator = ',';
  }
  return `${text}]}`;
}

/**
 * An event that says no more than version 1 could say is written as version 1: the digests of old histories cover that
 * text.
 */
function writerOf(event: Event): Writer {
  return event.type === 'MarketOpened' && event.quick === null ? writeOpened : writers[event.type];
}

/**
 * A function that gives a record's JSON text, keys in the schema's order. Throws Error when the schema has optional
 * fields.
 */
export function compileWriter(schema: TSchema): Writer {
  const { properties, required } = schema as unknown as { properties: Record<string, PropertySchema>; required?: readonly string[] };
  const fields = Object.entries(properties);
  if (fields.length !== required?.length) throw new Error('an event type must have no optional fields: all its events have the same keys');
  const parts = fields.map(([name, property], i) => {
    const key = `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`;
    return `${JSON.stringify(key)}+${expressionOf(property, `e.${name}`)}`;
  });
  return new Function('e', `return ${parts.join('+')}+"}"`) as Writer;
}

/**
 * JavaScript that gives a value's JSON text. Values that cannot contain special characters by their schema are not
 * escaped.
 */
function expressionOf(schema: PropertySchema, value: string): string {
  if ('const' in schema) return JSON.stringify(JSON.stringify(schema.const));
  if (schema.type === 'integer') return value;
  if (schema.type === 'string' && (isPlain(schema.pattern) || schema.format !== undefined)) return `'"'+${value}+'"'`;
  if (schema.anyOf?.every((one) => typeof one.const === 'string' && /^\w+$/.test(one.const))) return `'"'+${value}+'"'`;
  return `JSON.stringify(${value})`;
}

/** Whether the pattern allows only hex digits after `0x`. */
function isPlain(pattern: string | undefined): boolean {
  return pattern !== undefined && /^\^0x\[0-9a-f\]\{\d+\}\$$/.test(pattern);
}

/** One more than the largest number. */
const END = 2 ** 42;
const LOW = 2 ** 30;

/**
 * What makes a writer's ids: a number below 2^42 always gives the same id, another number another one. No other writer
 * makes one of them, so `writer` differs for each process, each start, and each kind of record. The ids are UUIDs of
 * version 8 with the check of `withCheck`.
 */
export function writerIds(writer: string): (number: number) => string {
  const name = recordId(`writer:${writer}`);
  const start = `${name.slice(0, 13)}-8`;
  const startCheck = crc32(start);
  return (number) => {
    if (!(Number.isSafeInteger(number) && number >= 0 && number < END)) throw new RangeError(`a record's number is a whole one below 2^42, not ${number}`);
    const high = Math.floor(number / LOW).toString(16).padStart(3, '0');
    // The first two bits of these eight digits are the variant of RFC 9562.
    const low = (LOW * 2 + number % LOW).toString(16);
    const rest = `${high}-${low.slice(0, 4)}-${low.slice(4)}`;
    return `${start}${rest}${crc32(rest, startCheck).toString(16).padStart(8, '0')}`;
  };
}

/** The digest before the first outcome: 32 zero bytes. */
export const GENESIS_DIGEST: Uint8Array = new Uint8Array(32);

const DIGEST_BYTES = 32;
const HEAD_BYTES = DIGEST_BYTES + 4;

/** The chain of digests that follows a given digest. It reuses one buffer for the bytes to be hashed. */
export class DigestChain {
  /** Starts with the last digest: the next digest covers it first. */
  #buffer = Buffer.alloc(16_384);

  constructor(from: Uint8Array = GENESIS_DIGEST) {
    this.#buffer.set(from);
  }

  /** The last digest; 32 bytes. */
  get last(): Uint8Array {
    return Uint8Array.from(this.#buffer.subarray(0, DIGEST_BYTES));
  }

  /**
   * The next digest: SHA-256(last ‖ byte length of the command as 32 bits big-endian ‖ command bytes ‖ outcome text in
   * UTF-8). 64 hex digits with `0x`.
   */
  next(command: Uint8Array, text: string): string {
    // One UTF-16 code unit takes at most three bytes in UTF-8.
    const room = HEAD_BYTES + command.length + text.length * 3;
    if (room > this.#buffer.length) this.#buffer = Buffer.concat([this.#buffer], room * 2);
    const buffer = this.#buffer;
    buffer.writeUInt32BE(command.length, DIGEST_BYTES);
    buffer.set(command, HEAD_BYTES);
    const textStart = HEAD_BYTES + command.length;
    const length = textStart + buffer.write(text, textStart, 'utf8');
    const hex = hash('sha256', buffer.subarray(0, length), 'hex');
    buffer.write(hex, 'hex');
    return `0x${hex}`;
  }
}

/** A digest as records have it: 64 hex digits with `0x`. */
export function formatDigest(digest: Uint8Array): string {
  return `0x${Buffer.from(digest.buffer, digest.byteOffset, digest.byteLength).toString('hex')}`;
}
