/** The kinds of path and query parameters. Each has a schema, which documents its text, and a parser, which accepts exactly that text. */
import { RequestError, type ErrorCode } from '../../engine/records/errors.js';
import { AnyCaseAddress, AnyCaseBytes32, NO, YES, type MarketOutcome } from '../../engine/records/fields.js';
import { ADDRESS, BYTES32 } from '../../engine/records/hex.js';
import { Type, type TSchema } from '../../engine/records/schema-types.js';

/** A parameter from an HTTP router or a JSON body: absent, a string, or (when repeated or nested) another value. */
export interface Given {
  /** The name in the path, the query or the body. */
  readonly name: string;
  readonly value: unknown;
}

/** The valid texts of a parameter, and their conversion to a value. */
export interface ParameterKind<T> {
  readonly schema: TSchema;
  readonly required: boolean;
  /** The errors that `parse` throws, in addition to invalid_request. */
  readonly errors: readonly ErrorCode[];
  /** The value. Throws a RequestError that names the parameter; invalid_request when the parameter is missing. */
  readonly parse: (given: Given) => T;
}

/** A market by its id or by its contract's address; lower-case hex. */
export type MarketReference = { readonly marketId: string } | { readonly contractAddress: string };

const OUTCOMES: ReadonlyMap<string, MarketOutcome> = new Map([['yes', YES], ['0', YES], ['no', NO], ['1', NO]]);

/** An address, in lower case. */
export const address = hexKind(ADDRESS.given, AnyCaseAddress, 'invalid_address');

/** A market id, in lower case. */
export const marketId = hexKind(BYTES32.given, AnyCaseBytes32, 'invalid_market_id');

/** An order's hash, in lower case. */
export const orderHash = hexKind(BYTES32.given, AnyCaseBytes32, 'invalid_order_hash');

const anyHash = new RegExp(BYTES32.given, 'i');

/** A transaction's hash, in lower case. */
export const transactionHash: ParameterKind<string> = {
  schema: AnyCaseBytes32, required: true, errors: [],
  parse: (given) => {
    const text = textOf(given);
    if (!anyHash.test(text)) throw refused(given, BYTES32.meaning);
    return text.toLowerCase();
  },
};

/** A market: a text of 66 characters is the market's id, any other text its contract's address. */
export const marketReference: ParameterKind<MarketReference> = {
  schema: Type.Union([AnyCaseBytes32, AnyCaseAddress]), required: true, errors: ['invalid_address', 'invalid_market_id'],
  parse: (given) => textOf(given).length === 66 ? { marketId: marketId.parse(given) } : { contractAddress: address.parse(given) },
};

/** An asset such as BTC; the value is in upper case. The receiver knows which assets there are. */
export const asset: ParameterKind<string> = {
  schema: Type.String({ pattern: '^[A-Za-z0-9]{1,16}$' }), required: true, errors: ['unknown_asset'],
  parse: (given) => textOf(given).toUpperCase(),
};

/** A chain's id. */
export const chainId: ParameterKind<number> = {
  schema: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), required: true, errors: ['invalid_chain_id'],
  parse: (given) => {
    const value = integerOf(textOf(given));
    if (value === undefined || value === 0) {
      throw new RequestError('invalid_chain_id', '', [fieldOf(given, `an integer of 1 to ${Number.MAX_SAFE_INTEGER}`)]);
    }
    return value;
  },
};

/** YES or 0, NO or 1, in any case. */
export const outcome: ParameterKind<MarketOutcome> = {
  schema: Type.Union(['YES', 'NO', '0', '1'].map((each) => Type.Literal(each))), required: true, errors: [],
  parse: (given) => {
    const value = OUTCOMES.get(textOf(given).toLowerCase());
    if (value === undefined) throw refused(given, 'YES or 0, NO or 1');
    return value;
  },
};

/** One of these texts. */
export function oneOf<const T extends string>(values: readonly T[]): ParameterKind<T> {
  return {
    schema: Type.Union(values.map((each) => Type.Literal(each))), required: true, errors: [],
    parse: (given) => {
      const text = textOf(given);
      const value = values.find((each) => each === text);
      if (value === undefined) throw refused(given, values.join(', '));
      return value;
    },
  };
}

/** A log position or another number that the engine gives. */
export const position: ParameterKind<number> = {
  schema: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), required: true, errors: [],
  parse: (given) => {
    const value = integerOf(textOf(given));
    if (value === undefined) throw refused(given, `an integer of 0 to ${Number.MAX_SAFE_INTEGER}`);
    return value;
  },
};

/** A log position, or a time in milliseconds since the Unix epoch. */
export type Moment = { readonly position: number } | { readonly timeMs: number };

const UTC = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,3})?Z$/;

/** Digits are a log position; a time is in UTC as RFC 3339 writes it, to the millisecond. */
export const moment: ParameterKind<Moment> = {
  schema: Type.Union([position.schema, Type.String({ pattern: UTC.source })]), required: true, errors: [],
  parse: (given) => {
    const text = textOf(given);
    const at = integerOf(text);
    if (at !== undefined) return { position: at };
    const timeMs = UTC.test(text) ? Date.parse(text) : NaN;
    // A day that its month does not have is taken for one of the next month.
    if (Number.isNaN(timeMs) || new Date(timeMs).toISOString().slice(0, 19) !== text.slice(0, 19)) {
      throw refused(given, `an integer of 0 to ${Number.MAX_SAFE_INTEGER}, or a time such as 2026-01-31T12:00:00Z`);
    }
    return { timeMs };
  },
};

/** How many entries an answer may have: 1 to `max`. A larger value is refused, not reduced to `max`. */
export function limit({ byDefault, max }: { readonly byDefault: number; readonly max: number }): ParameterKind<number> {
  return withDefault(upTo(max), byDefault);
}

/** A number of 1 to `max`. */
export function upTo(max: number): ParameterKind<number> {
  return {
    schema: Type.Integer({ minimum: 1, maximum: max }), required: true, errors: [],
    parse: (given) => {
      const value = integerOf(textOf(given));
      if (value === undefined || value < 1 || value > max) throw refused(given, `an integer of 1 to ${max}`);
      return value;
    },
  };
}

/** Text of 1 to `max` characters. */
export function upToCharacters(max: number): ParameterKind<string> {
  return {
    schema: Type.String({ minLength: 1, maxLength: max }), required: true, errors: [],
    parse: (given) => {
      const value = textOf(given);
      if (value === '' || [...value].length > max) throw refused(given, `1 to ${max} characters`);
      return value;
    },
  };
}

/** A kind in which an absent parameter gives undefined. */
export function optional<T>(kind: ParameterKind<T>): ParameterKind<T | undefined> {
  return { ...kind, required: false, parse: (given) => given.value === undefined ? undefined : kind.parse(given) };
}

/** A kind in which an absent parameter gives `byDefault`. */
export function withDefault<T>(kind: ParameterKind<T>, byDefault: T): ParameterKind<T> {
  return {
    ...kind, schema: { ...kind.schema, default: byDefault }, required: false,
    parse: (given) => given.value === undefined ? byDefault : kind.parse(given),
  };
}

/** Text that is passed on unchanged. The receiver checks it and throws its own errors. */
export function text(schema: TSchema): ParameterKind<string> {
  return { schema, required: true, errors: [], parse: textOf };
}

/** Hex that matches the pattern, also with `0X`; the value is in lower case. */
function hexKind(pattern: string, schema: TSchema, code: ErrorCode): ParameterKind<string> {
  const anyCase = new RegExp(pattern, 'i');
  return {
    schema, required: true, errors: [code],
    parse: (given) => {
      const text = textOf(given);
      if (!anyCase.test(text)) throw new RequestError(code, '', [fieldOf(given, 'hex digits after 0x, of the right number')]);
      return text.toLowerCase();
    },
  };
}

function textOf(given: Given): string {
  if (given.value === undefined) throw refused(given, 'required');
  if (typeof given.value !== 'string') throw refused(given, 'given once');
  return given.value;
}

/** Decimal digits as an integer of 0 to 2^53-1; undefined for anything else. */
function integerOf(text: string): number | undefined {
  if (!/^\d{1,16}$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

function refused(given: Given, message: string): RequestError {
  return new RequestError('invalid_request', `${given.name}: ${message}`, [fieldOf(given, message)]);
}

function fieldOf({ name }: Given, message: string) {
  return { field: `/${name}`, message };
}
