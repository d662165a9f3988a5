/**
 * Records as bytes, and the texts that the digests cover (docs/matching-rules.md, "Digest").
 *
 * Records are UTF-8 JSON, one object per record. Integers beyond 2^53 are decimal strings, so that every JSON parser
 * reads them exactly. A record that does not match its schema is never written, and is never skipped when read.
 */
import type { ValidateFunction } from 'ajv';
import { functionOf, validatorOf, type FunctionCode } from './compiled.js';
import { commandSchemas, type Command } from './commands.js';
import { eventSchemas, MarketOpenedV1, type Event } from './events.js';
import { explain } from './explain.js';
import { toHex } from './hex.js';
import { Cursor, readersOf, type JsonFields, type RecordReader } from './reader.js';
import type { TSchema } from './schema-types.js';

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

type Json = JsonFields;

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
    return [name, { version, validate: () => validate ??= validatorOf(schema), upcasts: chains[name] ?? {} }];
  }));
}

/** Validates a command of the current version. Throws MalformedRecord. */
export function checkCommand(command: Command): void {
  parseShape(commandShapes, command.kind, command);
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

const cursor = new Cursor();
const commandReaders = readersOf(commandSchemas, cursor);
const eventReaders = readersOf(eventSchemas, cursor);

/**
 * The command in a record's bytes, in the current version. A caller that has the bytes' text passes it, so that they are
 * not decoded twice. Throws MalformedRecord.
 */
export function decodeCommand(data: Uint8Array, text?: string): Command {
  return readCommand(data, text) ?? parseCommand(cursor.text);
}

/** A command as our own writers write it, of the current version; undefined for all other bytes. */
export function readCommand(data: Uint8Array, text?: string): Command | undefined {
  if (!cursor.start(data, text)) return undefined;
  const command = readNamed(commandReaders, '{"kind":"');
  return command !== undefined && cursor.at === data.length ? command as unknown as Command : undefined;
}

/** The command in any JSON text. Throws MalformedRecord. */
export function parseCommand(text: string): Command {
  const value = parseJson(text);
  return parseShape(commandShapes, value['kind'], value) as unknown as Command;
}

/** The outcome in a record's bytes, its events in their current versions. Throws MalformedRecord. */
export function decodeOutcome(data: Uint8Array): RecordedOutcome {
  return readOutcome(data) ?? parseOutcome(cursor.text);
}

const OUTCOME_START = /^\{"at":(0|[1-9]\d{0,14}),"events":\[/;
const OUTCOME_END = /^\],"digest":"(0x[0-9a-f]{64})"\}$/;
const OUTCOME_END_LENGTH = 80;
const COMMA = 44;

/** An outcome as `outcomeText` and `encodeOutcome` write it, of the current version; undefined for all other bytes. */
export function readOutcome(data: Uint8Array): RecordedOutcome | undefined {
  if (!cursor.start(data)) return undefined;
  const { text } = cursor;
  const start = OUTCOME_START.exec(text);
  const eventsEnd = text.length - OUTCOME_END_LENGTH;
  // A copy of its own, as the readers make: the digest would keep the record in memory.
  const end = OUTCOME_END.exec(` ${text.slice(eventsEnd)}`.slice(1));
  if (start === null || end === null) return undefined;
  const events: Event[] = [];
  cursor.at = start[0].length;
  while (cursor.at < eventsEnd) {
    if (events.length > 0 && text.charCodeAt(cursor.at++) !== COMMA) return undefined;
    const event = readNamed(eventReaders, '{"type":"');
    if (event === undefined) return undefined;
    events.push(event as unknown as Event);
  }
  return cursor.at === eventsEnd ? { at: Number(start[1]), events, digest: end[1] ?? '' } : undefined;
}

/** The outcome in any JSON text. Throws MalformedRecord. */
export function parseOutcome(text: string): RecordedOutcome {
  const value = parseJson(text);
  const { at, events, digest } = value;
  if (typeof at !== 'number' || typeof digest !== 'string' || !Array.isArray(events)) {
    throw new MalformedRecord('an outcome must have at, events and digest');
  }
  for (let i = 0; i < events.length; i++) {
    events[i] = parseShape(eventShapes, (events[i] as Json | null)?.['type'], events[i]);
  }
  return { at, events: events as Event[], digest };
}

/** Reads a record whose first field, from the cursor on, is `start` and the name of the reader. */
function readNamed(table: ReadonlyMap<string, RecordReader>, start: string): Json | undefined {
  const { text, at } = cursor;
  if (!text.startsWith(start, at)) return undefined;
  const name = at + start.length;
  return table.get(text.slice(name, text.indexOf('"', name)))?.();
}

function parseJson(text: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
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
  return functionOf(schema, 'write', writerCode(schema)) as Writer;
}

/** The code of the schema's writer. Throws as `compileWriter` does. */
export function writerCode(schema: TSchema): FunctionCode {
  const { properties, required } = schema as unknown as { properties: Record<string, PropertySchema>; required?: readonly string[] };
  const fields = Object.entries(properties);
  if (fields.length !== required?.length) throw new Error('an event type must have no optional fields: all its events have the same keys');
  const parts = fields.map(([name, property], i) => {
    const key = `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`;
    return `${JSON.stringify(key)}+${expressionOf(property, `e.${name}`)}`;
  });
  return { parameters: ['e'], body: `return ${parts.join('+')}+"}"` };
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

/** The digest before the first outcome: 32 zero bytes. */
export const GENESIS_DIGEST: Uint8Array = new Uint8Array(32);

/** A digest as records have it: 64 hex digits with `0x`. */
export function formatDigest(digest: Uint8Array): string {
  return toHex(digest);
}
