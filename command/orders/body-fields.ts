/**
 * The integers in bodies of orders. A fault's message is the field's rule, as text that follows the field's name: "is
 * …".
 */
import type { ErrorCode } from '../../engine/records/errors.js';
import { Type, type TObject, type TSchema } from '../../engine/records/schema-types.js';
import { record } from '../../engine/records/fields.js';
import { FieldFault, type RequestField } from '../../service/api/request-fields.js';

interface Bounds {
  readonly min?: 0 | 1;
  readonly max: bigint;
  readonly description: string;
  /** The rule. Default: the bounds. */
  readonly rule?: string;
  /** Of a fault. Default: invalid_request. */
  readonly code?: ErrorCode;
}

/** A required field. Every value that `read` does not know breaks the rule. */
export function ruledField<T>(schema: TSchema, rule: string, read: (value: unknown) => T | undefined, code: ErrorCode = 'invalid_request'): RequestField<T> {
  // One fault for all values: most are thrown away with their request.
  const fault = new FieldFault(code, rule);
  return { schema, required: true, errors: code === 'invalid_request' ? [] : [code], parse: (value) => read(value) ?? fault };
}

/**
 * An unsigned integer in decimal digits, sent as a JSON integer, exact at any size, or as a decimal string. Documented is
 * one form: an integer where every client has it exactly, else a string.
 */
export function uint({ min = 0, max, description, rule = `is an integer of ${min} to ${max}`, code }: Bounds): RequestField<string> {
  const maxNumber = max <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(max) : Number.MAX_SAFE_INTEGER;
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

const INT32_MAX = 2n ** 31n - 1n;
export const UINT64_MAX = 2n ** 64n - 1n;
export const UINT256_MAX = 2n ** 256n - 1n;

const DECIMAL = /^(?:0|[1-9]\d{0,77})$/;

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

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);
