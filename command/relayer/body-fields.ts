/**
 * The kinds of fields in the relayer's request bodies. The interface has one error text for each of three kinds of
 * faults, and no other.
 */
import { Type, type TSchema } from '../../engine/records/schema-types.js';
import { AnyCaseAddress, AnyCaseBytes32, RecoveryId } from '../../engine/records/fields.js';
import { isAddress, isBytes32 } from '../../engine/records/hex.js';
import { patterns, UINT256_MAX } from '../../engine/records/integers.js';
import { named } from '../../engine/records/named-schema.js';
import { FieldFault, type RequestField, type ValueOf } from '../../service/api/request-fields.js';

/** Of several faults in a body, that one is told whose code is the first here. */
const CODES = ['relay_invalid_body', 'relay_invalid_address', 'relay_invalid_signature'] as const;

const BODY = new FieldFault('relay_invalid_body', '');
const ADDRESS = new FieldFault('relay_invalid_address', '');
const SIGNATURE = new FieldFault('relay_invalid_signature', '');

const DECIMAL = new RegExp(patterns.uint256);

function field<T>(schema: TSchema, parse: RequestField<T>['parse']): RequestField<T> {
  return { schema, required: true, errors: CODES, parse };
}

/** An address; other text is a fault of the address, anything else one of the body. Lower-case hex. */
export const address = (description: string): RequestField<string> => field({
  ...AnyCaseAddress, description,
}, (value) => (
  typeof value !== 'string' ? BODY : isAddress(value) ? value.toLowerCase() : ADDRESS));

/** 32 bytes, lower-case hex. */
export const bytes32 = (description: string): RequestField<string> => field({
  ...AnyCaseBytes32, description,
}, (value) => (
  isBytes32(value) ? value.toLowerCase() : BODY));

/** True or false. */
export const flag = (description: string): RequestField<boolean> => field(Type.Boolean({ description }), (value) => (
  typeof value === 'boolean' ? value : BODY));

/** An unsigned integer of up to 256 bits, as a string of decimal digits. */
export const decimal = (description: string): RequestField<bigint> => (
  field(Type.String({ pattern: patterns.uint256, description }), decimalOf));

/** A list of unsigned integers, each as a string of decimal digits. */
export const decimals = (description: string): RequestField<readonly bigint[]> => (
  field(Type.Array(Type.String({ pattern: patterns.uint256 }), { description }), (value) => {
    if (!Array.isArray(value)) return BODY;
    const parsed = value.map(decimalOf);
    return parsed.some((each) => each instanceof FieldFault) ? BODY : parsed as bigint[];
  }));

function decimalOf(value: unknown): bigint | FieldFault {
  const number = typeof value === 'string' && DECIMAL.test(value) ? BigInt(value) : undefined;
  return number !== undefined && number <= UINT256_MAX ? number : BODY;
}

/** A whole number, as a JSON integer, which the schema documents, or as decimal digits. */
export function integer(min: 0 | 1, max: number, schema: TSchema): RequestField<number> {
  // As text at most 15 digits, all of which a double has.
  const pattern = max < 10 ? `^[${min}-${max}]$` : min === 1 ? '^[1-9][0-9]{0,14}$' : '^(0|[1-9][0-9]{0,14})$';
  const digits = new RegExp(pattern);
  return field(schema, (value) => {
    if (typeof value === 'string') return digits.test(value) ? Number(value) : BODY;
    return Number.isSafeInteger(value) && value as number >= min && value as number <= max ? value as number : BODY;
  });
}

/** The recovery id: 27 or 28, or 0 or 1 for the same; another number is a fault of the signature. */
export const recoveryId: RequestField<27 | 28> = field(RecoveryId, (value) => {
  switch (wholeNumber(value)) {
    case undefined: return BODY;
    case 0:
    case 27: return 27;
    case 1:
    case 28: return 28;
    default: return SIGNATURE;
  }
});

/** A half of a signature: 66 characters of hex. Another text is a fault of the signature. */
export const signatureWord = (description: string): RequestField<string> => field({
  ...AnyCaseBytes32, description,
}, (value) => (
  typeof value !== 'string' ? BODY : isBytes32(value) ? value.toLowerCase() : SIGNATURE));

/** A field that may be absent or null. */
export const optional = <T>({ parse, ...rest }: RequestField<T>): RequestField<T | undefined> => (
  { ...rest, required: false, parse: (value) => value === undefined || value === null ? undefined : parse(value) });

export type BodyFields = Readonly<Record<string, RequestField<unknown>>>;
export type Parsed<F extends BodyFields> = { readonly [Name in keyof F]: ValueOf<F[Name]> };

/** The fields of an object, or the fault that is told. A field that is not known is a fault of the body, as everywhere. */
export function parseFields<F extends BodyFields>(fields: F, object: unknown): Parsed<F> | FieldFault {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return BODY;
  const values: Record<string, unknown> = {};
  const faults: FieldFault[] = Object.keys(object).every((name) => Object.hasOwn(fields, name)) ? [] : [BODY];
  for (const [name, { parse }] of Object.entries(fields)) {
    const value = parse(Object.hasOwn(object, name) ? (object as Record<string, unknown>)[name] : undefined);
    if (value instanceof FieldFault) faults.push(value);
    else values[name] = value;
  }
  return firstOf(faults) ?? values as Parsed<F>;
}

/** A list of objects with the same fields; documents have a schema with this name for one of them. */
export const objects = <F extends BodyFields>(name: string, fields: F, description: string): RequestField<readonly Parsed<F>[]> => (
  field(Type.Array(named(name, schemaOf(fields)), { minItems: 1, description }), (value) => {
    if (!Array.isArray(value) || value.length === 0) return BODY;
    const parsed = value.map((each) => parseFields(fields, each));
    return firstOf(parsed.filter((each) => each instanceof FieldFault)) ?? parsed as Parsed<F>[];
  }));

/** The schema of an object with these fields. */
export function schemaOf(fields: BodyFields): TSchema {
  return Type.Object(Object.fromEntries(Object.entries(fields).map(([name, { schema, required }]) => (
    [name, required ? schema : Type.Optional(schema)]))), { additionalProperties: false });
}

function firstOf(faults: readonly FieldFault[]): FieldFault | undefined {
  for (const code of CODES) {
    const fault = faults.find((each) => each.code === code);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** A JSON integer or decimal digits; undefined for anything else, also beyond 2^53. */
function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? number as number : undefined;
}
