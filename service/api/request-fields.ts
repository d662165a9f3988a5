/**
 * The one way in which a field of a request is described, whether it comes in the path, the query, a header or a body: a schema, which documents the
 * one form that clients send, and a parser, which accepts that and sometimes other forms of the same.
 * Below are the kinds of path and query parameters, then those of fields in bodies.
 */
import { RequestError, type ErrorCode } from '../../engine/records/errors.js';
import { AnyCaseAddress, AnyCaseBytes32, NO, YES, record, type MarketOutcome } from '../../engine/records/fields.js';
import { ADDRESS, BYTES32, type HexForm } from '../../engine/records/hex.js';
import { patterns } from '../../engine/records/integers.js';
import { Type, type TObject, type TSchema } from '../../engine/records/schema-types.js';

export interface RequestField<T> {
  /** The field in the API document. */
  readonly schema: TSchema;
  readonly required: boolean;
  /** The codes of its faults, besides invalid_request. */
  readonly errors: readonly ErrorCode[];
  /** The value as the program uses it, or what is wrong with the value that was sent. `undefined` stands for an absent field. */
  readonly parse: (value: unknown) => T | FieldFault;
}

/** What is wrong with a value. A value itself, so that whoever parses several fields can choose which fault to tell. */
export class FieldFault {
  constructor(readonly code: ErrorCode, readonly message: string) {}
}

export type ValueOf<F> = F extends { readonly parse: (value: unknown) => infer V } ? Exclude<V, FieldFault> : never;

/** The value of a named parameter. Throws a RequestError that names the parameter. */
export function valueOf<T>(name: string, { parse }: RequestField<T>, given: unknown): T {
  const value = parse(given);
  if (!(value instanceof FieldFault)) return value;
  const { code, message } = value;
  throw new RequestError(code, '', [{ field: `/${name}`, message }]);
}

/** What is said of a field, or of a parameter, that a request has and the endpoint does not. */
export const UNKNOWN_FIELD = 'is not known here; leave it out';

/**
 * Throws RequestError `invalid_request` for the first name that the endpoint does not know: leaving it out of account
 * could change what the client meant. `at`: a JSON pointer to the object that has the names.
 */
export function refuseUnknown(given: object, known: object, at = ''): void {
  for (const name in given) {
    if (!Object.hasOwn(given, name) || Object.hasOwn(known, name)) continue;
    const field = `${at}/${pointerPart(name)}`;
    throw new RequestError('invalid_request', '', [{ field, message: UNKNOWN_FIELD }]);
  }
}

/** A name as part of a JSON pointer (RFC 6901). It is shortened, since the client chose it. */
export function pointerPart(name: string): string {
  return name.slice(0, 40).replaceAll('~', '~0').replaceAll('/', '~1');
}

/** A field that is sent as text, once. `read` gets the text. */
function textField<T>(schema: TSchema, read: (text: string) => T | FieldFault, errors: readonly ErrorCode[] = []): RequestField<T> {
  return {
    schema, required: true, errors,
    parse: (value) => value === undefined ? invalid('is missing') : typeof value !== 'string' ? invalid('is a text') : read(value),
  };
}

const invalid = (message: string): FieldFault => new FieldFault('invalid_request', message);

/** Hex that matches the pattern, also with `0X`; the value is in lower case. */
function hexField({ given, meaning }: HexForm, schema: TSchema, code: ErrorCode): RequestField<string> {
  const anyCase = new RegExp(given, 'i');
  const read = (text: string) => anyCase.test(text) ? text.toLowerCase() : new FieldFault(code, `is ${meaning}`);
  return textField(schema, read, code === 'invalid_request' ? [] : [code]);
}

/** An address, in lower case. */
export const address = hexField(ADDRESS, AnyCaseAddress, 'invalid_address');

/** A market id, in lower case. */
export const marketId = hexField(BYTES32, AnyCaseBytes32, 'invalid_market_id');

/** An order's hash, in lower case. */
export const orderHash = hexField(BYTES32, AnyCaseBytes32, 'invalid_order_hash');

/** A transaction's hash, in lower case. */
export const transactionHash = hexField(BYTES32, AnyCaseBytes32, 'invalid_request');

/** A market by its id or by its contract's address; lower-case hex. */
export type MarketReference = { readonly marketId: string } | { readonly contractAddress: string };

/**
 * A market: a text of 66 characters is the market's id, any other text its contract's address. `documented` is the one of
 * the two that the endpoint's document names.
 */
export const marketReference = (documented: TSchema) => textField<MarketReference>(documented, (text) => (
  text.length === 66
    ? mapped(marketId.parse(text), (id) => ({ marketId: id }))
    : mapped(address.parse(text), (contractAddress) => ({ contractAddress }))
), ['invalid_address', 'invalid_market_id']);

/** An asset such as BTC; the value is in upper case. The receiver knows which assets there are. */
export const asset = textField(Type.String({ pattern: '^[A-Za-z0-9]{1,16}$' }), (text) => text.toUpperCase(), ['unknown_asset']);

/** A chain's id. */
export const chainId = textField(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), (text) => (
  integerOf(text, 1) ?? new FieldFault('invalid_chain_id', `is an integer of 1 to ${Number.MAX_SAFE_INTEGER}`)
), ['invalid_chain_id']);

const OUTCOMES: ReadonlyMap<string, MarketOutcome> = new Map([['yes', YES], ['0', YES], ['no', NO], ['1', NO]]);

/** YES or 0, NO or 1, in any case; the words are documented. */
export const outcome = textField(Type.Union(['YES', 'NO'].map((each) => Type.Literal(each))), (text) => (
  OUTCOMES.get(text.toLowerCase()) ?? invalid('is YES or 0, or NO or 1')
));

/** One of these texts. */
export function oneOf<const T extends string>(values: readonly T[]): RequestField<T> {
  const schema = Type.Union(values.map((each) => Type.Literal(each)));
  return textField(schema, (text) => values.find((each) => each === text) ?? invalid(`is ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`));
}

/** A number of `min` to `max`. */
function integer(min: 0 | 1, max: number): RequestField<number> {
  return textField(Type.Integer({ minimum: min, maximum: max }), (text) => integerOf(text, min, max) ?? invalid(`is an integer of ${min} to ${max}`));
}

/** A log position or another number that the engine gives. */
export const position = integer(0, Number.MAX_SAFE_INTEGER);

/** A log position, or a time in milliseconds since the Unix epoch. */
export type Moment = { readonly position: number } | { readonly timeMs: number };

const UTC = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,3})?Z$/;
/** Of as many digits as are exact whatever they are; a few longer positions are taken, too. */
const MOMENT = `^\\d{1,15}$|${UTC.source}`;

/** Digits are a log position; a time is in UTC as RFC 3339 writes it, to the millisecond. */
export const moment = textField<Moment>(Type.String({ pattern: MOMENT }), (text) => {
  const at = integerOf(text, 0);
  if (at !== undefined) return { position: at };
  const timeMs = UTC.test(text) ? Date.parse(text) : NaN;
  // A day that its month does not have is taken for one of the next month.
  if (Number.isNaN(timeMs) || new Date(timeMs).toISOString().slice(0, 19) !== text.slice(0, 19)) {
    return invalid(`is an integer of 0 to ${Number.MAX_SAFE_INTEGER}, or a time such as 2026-01-31T12:00:00Z`);
  }
  return { timeMs };
});

/** How many entries an answer may have: 1 to `max`. A larger value is refused, not reduced to `max`. */
export function limit({ byDefault, max }: { readonly byDefault: number; readonly max: number }): RequestField<number> {
  return withDefault(upTo(max), byDefault);
}

/** A number of 1 to `max`. */
export const upTo = (max: number): RequestField<number> => integer(1, max);

/** A time in Unix seconds, up to `max`. */
export const seconds = (max: number): RequestField<number> => integer(0, max);

/** Text of 1 to `max` characters. */
export const upToCharacters = (max: number): RequestField<string> => textField(Type.String({ minLength: 1, maxLength: max }), (given) => (
  given === '' || [...given].length > max ? invalid(`has 1 to ${max} characters`) : given
));

/** Text that is passed on unchanged. The receiver checks it and throws its own errors. */
export const text = (schema: TSchema): RequestField<string> => textField(schema, (given) => given);

/** A field in which an absent value gives undefined. */
export function optional<T>(field: RequestField<T>): RequestField<T | undefined> {
  return { ...field, required: false, parse: (value) => value === undefined ? undefined : field.parse(value) };
}

/** A field in which an absent value gives `byDefault`, which is sent as `sent`. */
export function withDefault<T>(field: RequestField<T>, byDefault: T, sent: unknown = byDefault): RequestField<T> {
  return {
    ...field, schema: { ...field.schema, default: sent }, required: false,
    parse: (value) => value === undefined ? byDefault : field.parse(value),
  };
}

function mapped<T, U>(value: T | FieldFault, convert: (value: T) => U): U | FieldFault {
  return value instanceof FieldFault ? value : convert(value);
}

/** Decimal digits as an integer of `min` to `max`; undefined for anything else. */
function integerOf(text: string, min: number, max = Number.MAX_SAFE_INTEGER): number | undefined {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(value) && value >= min && value <= max ? value : undefined;
}

/**
 * A required field of a body. Every value that `read` does not know breaks the rule, which is the fault's message: text
 * that follows the field's name.
 */
export function ruledField<T>(schema: TSchema, rule: string, read: (value: unknown) => T | undefined, code: ErrorCode = 'invalid_request'): RequestField<T> {
  // One fault for all values: most are thrown away with their request.
  const fault = new FieldFault(code, rule);
  return { schema, required: true, errors: code === 'invalid_request' ? [] : [code], parse: (value) => read(value) ?? fault };
}

const INT32_MAX = 2n ** 31n - 1n;
const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

interface Bounds {
  readonly min?: 0 | 1;
  readonly max: bigint;
  readonly description: string;
  /** The rule. Default: the bounds. */
  readonly rule?: string;
  /** Of a fault. Default: invalid_request. */
  readonly code?: ErrorCode;
}

/**
 * An unsigned integer in decimal digits, sent as a JSON integer, exact at any size, or as a decimal string. Documented is
 * one form: an integer where every client has it exactly, else a string.
 */
export function uint({ min = 0, max, description, rule = `is an integer of ${min} to ${max}`, code }: Bounds): RequestField<string> {
  const maxNumber = max <= SAFE_MAX ? Number(max) : Number.MAX_SAFE_INTEGER;
  const digits = `[1-9][0-9]{0,${String(max).length - 1}}`;
  const schema = max <= INT32_MAX
    ? Type.Integer({ minimum: min, maximum: maxNumber, description })
    : Type.String({
        pattern: min === 0 ? `^(0|${digits})$` : `^${digits}$`, description: `${description} An integer of ${min} to ${max} in decimal digits.`,
      });
  return ruledField(schema, rule, (value) => {
    if (typeof value === 'number') return Number.isSafeInteger(value) && value >= min && value <= maxNumber ? String(value) : undefined;
    const text = uintText(value, max);
    return text === '0' && min > 0 ? undefined : text;
  }, code);
}

/**
 * One of a few integers, sent as a JSON integer or as a decimal string; `meaning` lists them with their meaning. The
 * schema documents the integers.
 */
export function choice<const V extends number>(schema: TSchema, values: readonly V[], meaning: string): RequestField<V> {
  const texts = Object.fromEntries(values.map((each) => [each, String(each)])) as Record<V, string>;
  return ruledField(schema, `is ${meaning}`, (value) => {
    for (const each of values) if (each === value || texts[each] === value) return each;
    return undefined;
  });
}

/** The schema of an object with exactly these fields, all required. */
export function objectSchema(fields: Readonly<Record<string, Pick<RequestField<unknown>, 'schema'>>>): TObject {
  return record(Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])));
}

const DECIMAL = new RegExp(patterns.uint256);

/**
 * The integer in decimal digits, as in records; undefined for anything except a JSON integer or a decimal string
 * (digits only, no leading zero) from 0 to `max`.
 */
export function uintText(value: unknown, max: bigint): string | undefined {
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) && value >= 0 && (max >= SAFE_MAX || BigInt(value) <= max)
      ? String(value)
      : undefined;
  }
  if (typeof value === 'bigint') return value >= 0n && value <= max ? String(value) : undefined;
  if (typeof value !== 'string' || !DECIMAL.test(value)) return undefined;
  const fits = value.length <= 15 && max >= SAFE_MAX;
  return fits || BigInt(value) <= max ? value : undefined;
}
