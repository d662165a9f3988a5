/** Compiled readers give what the parser gives, or leave the record to it: for every command and event, and for hostile bytes. */
import { deepEqual, equal, ok, throws } from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { decodeCommand, decodeOutcome, parseCommand, parseOutcome, readCommand, readOutcome } from '../../engine/records/codec.js';
import { commandSchemas } from '../../engine/records/commands.js';
import { eventSchemas } from '../../engine/records/events.js';
import { Cursor, readersOf } from '../../engine/records/reader.js';
import { Type, type TSchema } from '../../engine/records/schema-types.js';
import { record } from '../../engine/records/fields.js';
import { seeded } from '../bench/book-operations.js';

const DIGEST = `0x${'0f'.repeat(32)}`;
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

interface Schema {
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly type?: string;
  readonly pattern?: string;
  readonly format?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

describe('compiled readers', () => {
  const outcomeOf = (events: readonly unknown[]): string => `{"at":1700000000000,"events":${JSON.stringify(events)},"digest":"${DIGEST}"}`;

  it('read every command and event that is written as our own writers write it', () => {
    const random = seeded(1);
    for (const schema of Object.values(commandSchemas)) {
      for (let i = 0; i < 20; i++) {
        const command = valueOf(schema as Schema, { random, plain: true });
        same(readCommand(Buffer.from(JSON.stringify(command))), command);
      }
    }
    for (const schema of Object.values(eventSchemas)) {
      for (let i = 0; i < 20; i++) {
        const event = valueOf(schema as Schema, { random, plain: true });
        same(readOutcome(Buffer.from(outcomeOf([event, event]))), { at: 1_700_000_000_000, events: [event, event], digest: DIGEST });
      }
    }
    same(readOutcome(Buffer.from(outcomeOf([]))), { at: 1_700_000_000_000, events: [], digest: DIGEST });
  });

  it('give the parser\'s value, or leave to the parser what is written otherwise or altered', () => {
    const random = seeded(2);
    const known = { commands: 0, outcomes: 0 };
    for (const schema of Object.values(commandSchemas)) {
      for (let i = 0; i < 150; i++) {
        const text = altered(JSON.stringify(valueOf(schema as Schema, { random, plain: false })), random);
        known.commands += agree(text, readCommand, parseCommand);
      }
    }
    for (const schema of Object.values(eventSchemas)) {
      for (let i = 0; i < 150; i++) {
        const event = valueOf(schema as Schema, { random, plain: false });
        const text = altered(outcomeOf(random() < 0.3 ? [event, event] : [event]), random);
        known.outcomes += agree(text, readOutcome, parseOutcome);
      }
    }
    ok(known.commands > 100 && known.outcomes > 100, 'some of the altered records are still the readers\' own');
  });

  it('leave records of older versions to the parser, which brings them up', () => {
    const market = valueOf(eventSchemas.MarketOpened as Schema, { random: seeded(3), plain: true }) as Record<string, unknown>;
    const older: Record<string, unknown> = { ...market, v: 1 };
    delete older['quick'];
    const text = outcomeOf([older]);
    equal(readOutcome(Buffer.from(text)), undefined);
    deepEqual(decodeOutcome(Buffer.from(text)).events, [{ ...older, v: 2, quick: null }]);
  });

  it('leave a record of more than 64 KiB to the parser, whatever was read before', () => {
    const rejected = { type: 'CommandRejected', v: 1, code: 'unknown_market', subject: 'before' };
    const before = outcomeOf(Array.from({ length: 600 }, () => rejected));
    const after = outcomeOf(Array.from({ length: 2_000 }, () => ({ ...rejected, subject: 'behind' })));
    ok(before.length < 65_536 && after.length > 65_536);
    same(readOutcome(Buffer.from(before)), parseOutcome(before));
    equal(readOutcome(Buffer.from(after)), undefined);
    same(decodeOutcome(Buffer.from(after)), parseOutcome(after));
  });

  it('are not made for what they would not check', () => {
    throws(() => compiled(record({ n: Type.Integer({ multipleOf: 2 }) })), /does not know what multipleOf means/);
    throws(() => compiled(record({ n: Type.Number() })), /does not know what type means/);
    throws(() => compiled(record({ s: Type.String({ format: 'date' }) })), /does not know the format date/);
    throws(() => compiled(record({ s: Type.Optional(Type.String()) })), /of which the first is required/);
    throws(() => compiled(Type.Object({ s: Type.String() })), /without unknown fields/);
    throws(() => compiled(record({ s: Type.Union([Type.String(), Type.Integer()]) })), /unions of constants/);
  });

  it('give strings that do not keep the record in memory', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const market = valueOf(commandSchemas.OpenMarket as Schema, { random: seeded(4), plain: true }) as Record<string, unknown>;
    const kept: unknown[] = [];
    const keep = (n: number): void => {
      const marketId = `0x${n.toString(16).padStart(64, '0')}`;
      const description = 'd'.repeat(10_000);
      const command = decodeCommand(Buffer.from(JSON.stringify({ ...market, marketId, question: `question number ${n}`, description })));
      const rejected = { type: 'CommandRejected', v: 1, code: 'unknown_market', subject: marketId };
      const outcome = decodeOutcome(Buffer.from(outcomeOf([rejected, { ...rejected, subject: description }]).replace(DIGEST, marketId)));
      if (command.kind === 'OpenMarket') kept.push(command.marketId, command.question, outcome.digest, (outcome.events[0] as typeof rejected).subject);
    };
    for (let n = 0; n < 100; n++) keep(n);
    const before = used();
    for (let n = 100; n < 1_100; n++) keep(n);
    const perRecord = (used() - before) / 1_000;
    equal(kept.length, 4_400);
    ok(perRecord < 2_000, `a record of 10,000 bytes leaves ${Math.round(perRecord)} bytes`);
  });
});

/** What the reader of the schema makes of nothing. */
function compiled(schema: TSchema): unknown {
  return readersOf({ schema }, new Cursor()).get('schema')?.();
}

/** Fails unless the values are equal, down to the order of their keys. */
function same(actual: unknown, expected: unknown): void {
  deepEqual(actual, expected);
  equal(JSON.stringify(actual), JSON.stringify(expected));
}

/** Fails when the reader gives another value than the parser, or one that the parser refuses. Returns 1 where it gives one. */
function agree(bytes: Uint8Array, read: (bytes: Uint8Array) => unknown, parse: (text: string) => unknown): 0 | 1 {
  const value = read(bytes);
  if (value === undefined) return 0;
  same(value, parse(utf8.decode(bytes)));
  return 1;
}

const PATTERNS: Readonly<Record<string, readonly string[]>> = {
  '^[A-Z0-9]{1,16}$': ['BTC', 'ETH', 'ABCDEFGHIJKLMNOP'], '^[a-z0-9_-]{1,32}$': ['pyth', 'coinbase', 'simulated_feed-2'],
};
const TEXTS = ['', 'x', 'Will it rain?', 'thirteen char', '{"kind":"PlaceOrder"}', 'a\\b', '"', '€', 'na\u00efve', '\u0000', '\u2028', '\ud800', '🎲'];

function below(random: () => number, end: number): number {
  return Math.floor(random() * end);
}

function pick<T>(random: () => number, items: readonly T[]): T {
  return items[below(random, items.length)] as T;
}

interface ValueOptions {
  readonly random: () => number;
  /** Only what our own writers write without escapes, and integers of few digits. */
  readonly plain: boolean;
}

function valueOf(schema: Schema, options: ValueOptions): unknown {
  const { random, plain } = options;
  if ('const' in schema) return schema.const;
  if (schema.anyOf !== undefined) return valueOf(pick(random, schema.anyOf), options);
  switch (schema.type) {
    case 'boolean': return random() < 0.5;
    case 'null': return null;
    case 'integer': {
      const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema;
      return pick(random, [minimum, minimum + 1, Math.min(maximum, 999_999_999_999_999), ...plain ? [] : [maximum]]);
    }
    case 'string': return textOf(schema, options);
    case 'array': {
      const length = 1 + below(random, Math.min(3, schema.maxItems ?? 3));
      return Array.from({ length }, () => valueOf(schema.items ?? {}, options));
    }
    case 'object': return Object.fromEntries(Object.entries(schema.properties ?? {})
      .filter(([name]) => schema.required?.includes(name) === true || random() < 0.5)
      .map(([name, property]) => [name, valueOf(property, options)]));
    default: throw new Error(`no value of ${JSON.stringify(schema)}`);
  }
}

function textOf({ pattern, format, maxLength = Infinity }: Schema, { random, plain }: ValueOptions): string {
  if (format !== undefined) {
    const large = plain ? [] : ['9223372036854775807', '123456789012345678'];
    return pick(random, ['1', '12345678901234', ...format === 'asset_price' ? [] : ['0'], ...large]);
  }
  const digits = /\{(\d+)\}\$$/.exec(pattern ?? '')?.[1];
  if (digits !== undefined) return `0x${Array.from({ length: Number(digits) }, () => pick(random, [...'0123456789abcdef'])).join('')}`;
  const texts = PATTERNS[pattern ?? ''] ?? (plain ? TEXTS.slice(1, 4) : TEXTS.slice(1));
  return pick(random, texts.filter((text) => text.length <= maxLength));
}

const HOSTILE = [...'"\\{}[],:09.e- \n\u0000é€🎲Fg/`', '0x', 'null', '1e2', '\\u0061', '00'];
const NO_UTF8 = [0xff, 0xc3, 0xed, 0x80];

/** The bytes of the text, altered in one way or left as they are. */
function altered(text: string, random: () => number): Uint8Array {
  const at = below(random, text.length);
  const cut = (from: number, put: string, to = from): Buffer => Buffer.from(text.slice(0, from) + put + text.slice(to));
  const digits = [...text.matchAll(/(?<![\w.])\d+(?!\w)/g)];
  switch (below(random, 12)) {
    case 0: return Buffer.from(text).subarray(0, at);
    case 1: return cut(at, pick(random, HOSTILE));
    case 2: return cut(at, pick(random, HOSTILE), at + 1);
    case 3: return cut(at, '', at + 1);
    case 4: return Buffer.from(JSON.stringify(shuffled(JSON.parse(text), random)));
    case 5: return cut(text.indexOf(',') + 1, `${text.slice(1, text.indexOf(',') + 1)}`);
    case 6: return cut(text.length, pick(random, [' ', '}', 'x', '\n', ',', text]));
    case 7: return Buffer.concat([cut(at, '', text.length), Buffer.from([pick(random, NO_UTF8)]), cut(0, '', at)]);
    case 8: {
      const found = digits[below(random, digits.length)];
      const put = pick(random, ['0', '1', '-1', '-0', '1.0', '1e3', '01', '9007199254740993', '18446744073709551616', '1'.repeat(400)]);
      return found === undefined ? Buffer.from(text) : cut(found.index, put, found.index + found[0].length);
    }
    case 9: return cut(0, '\ufeff');
    case 10: return cut(text.length - 1, ',"__proto__":{"v":9}');
    default: return Buffer.from(text);
  }
}

/** The same value with the keys of its objects in another order. */
function shuffled(value: unknown, random: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, random));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, field]) => [key, shuffled(field, random)] as const);
  return Object.fromEntries(random() < 0.5 ? entries.reverse() : entries.slice(1).concat(entries.slice(0, 1)));
}
