/** The fields of a body: each one value that documents the field and parses it, so that the two cannot differ. */
import Type, { type TObject, type TSchema } from 'typebox';
import { record } from '../../engine/records/fields.js';
import { uintText } from './uint.js';

export interface RequestField<T> {
  /** What the API document says of it. */
  readonly schema: TSchema;
  /** What is right, after the name of the field: "is …". */
  readonly rule: string;
  /** The value in the form that records carry; undefined where the rule is broken, or the field is missing. */
  readonly parse: (value: unknown) => T | undefined;
}

interface Bounds {
  readonly min?: bigint;
  readonly max: bigint;
  readonly description: string;
  /** What the rule adds to the bounds. */
  readonly unit?: string;
}

/** An unsigned integer in decimal digits, sent as a JSON integer, exact at any size, or as a decimal string. */
export function uint({ min = 0n, max, description, unit = '' }: Bounds): RequestField<string> {
  const maximum = max <= BigInt(Number.MAX_SAFE_INTEGER) ? { maximum: Number(max) } : {};
  const digits = String(max).length;
  return {
    schema: Type.Union([
      Type.Integer({ minimum: Number(min), ...maximum }), Type.String({ pattern: `^(${min === 0n ? '0|' : ''}[1-9][0-9]{0,${digits - 1}})$` }),
    ], { description: `${description} An integer of ${min} to ${max}, as a JSON integer or as a decimal string.` }),
    rule: `is an integer of ${min} to ${max}${unit}`,
    parse: (value) => {
      const text = uintText(value, max);
      return text === undefined || (min > 0n && BigInt(text) < min) ? undefined : text;
    },
  };
}

/** One of a few integers, sent as such or as a decimal string; `meaning` says what each stands for. */
export function choice<const V extends number>(
  values: readonly V[], { meaning, description }: { readonly meaning: string; readonly description: string },
): RequestField<V> {
  const max = BigInt(Math.max(...values));
  return {
    schema: Type.Union([...values.map((each) => Type.Literal(each)), ...values.map((each) => Type.Literal(String(each)))], { description }),
    rule: `is ${meaning}`,
    parse: (value) => {
      const text = uintText(value, max);
      return text === undefined ? undefined : values.find((each) => each === Number(text));
    },
  };
}

/** The schema of an object of these fields and no others, all of them required. */
export function objectSchema(fields: Readonly<Record<string, Pick<RequestField<unknown>, 'schema'>>>): TObject {
  return record(Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])));
}
