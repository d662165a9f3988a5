/** The kinds of fields in the relayer's request bodies. Each documents and parses a field, and says which error a wrong value gives. */
import { Type, type TSchema } from '../../engine/records/schema-types.js';
import { AnyCaseAddress, AnyCaseBytes32 } from '../../engine/records/fields.js';
import { isAddress, isBytes32 } from '../../engine/records/hex.js';

/** The stages of checking a body, in their order: a fault of an earlier stage is told before one of a later stage. */
export const STAGES = ['body', 'address', 'signature'] as const;
export type Stage = typeof STAGES[number];

/** A value's fault, by its stage. */
export class FieldFault {
  constructor(readonly stage: Stage) {}
}

export interface BodyField<T> {
  readonly schema: TSchema;
  /** The value, or its fault. `undefined` is an absent field. */
  readonly parse: (value: unknown) => T | FieldFault;
}

const BODY = new FieldFault('body');
const ADDRESS = new FieldFault('address');
const SIGNATURE = new FieldFault('signature');

const UINT256_MAX = 2n ** 256n - 1n;
const DECIMAL = /^(0|[1-9][0-9]{0,77})$/;
const DECIMAL_SCHEMA = '^(0|[1-9][0-9]{0,77})$';

/** An address; other text is a fault of the address, anything else one of the body. Lower-case hex. */
export const address = (description: string): BodyField<string> => ({
  schema: { ...AnyCaseAddress, description },
  parse: (value) => typeof value !== 'string' ? BODY : isAddress(value) ? value.toLowerCase() : ADDRESS,
});

/** 32 bytes, lower-case hex. */
export const bytes32 = (description: string): BodyField<string> => ({
  schema: { ...AnyCaseBytes32, description }, parse: (value) => isBytes32(value) ? value.toLowerCase() : BODY,
});

/** True or false. */
export const flag = (description: string): BodyField<boolean> => ({
  schema: Type.Boolean({ description }), parse: (value) => typeof value === 'boolean' ? value : BODY,
});

/** An unsigned integer of up to 256 bits, as a string of decimal digits. */
export const decimal = (description: string): BodyField<bigint> => ({
  schema: Type.String({ pattern: DECIMAL_SCHEMA, description }),
  parse: (value) => {
    const number = typeof value === 'string' && DECIMAL.test(value) ? BigInt(value) : undefined;
    return number !== undefined && number <= UINT256_MAX ? number : BODY;
  },
});

/** A list of unsigned integers, each as a string of decimal digits. */
export const decimals = (description: string): BodyField<readonly bigint[]> => ({
  schema: Type.Array(Type.String({ pattern: DECIMAL_SCHEMA }), { description }),
  parse: (value) => {
    if (!Array.isArray(value)) return BODY;
    const { parse } = decimal('');
    const parsed = value.map(parse);
    return parsed.some((each) => each instanceof FieldFault) ? BODY : parsed as bigint[];
  },
});

/** A whole number, as a JSON integer or as decimal digits. */
export const integer = (min: 0 | 1, max: number, description: string): BodyField<number> => {
  // As text at most 15 digits, all of which a double has.
  const pattern = max < 10 ? `^[${min}-${max}]$` : min === 1 ? '^[1-9][0-9]{0,14}$' : '^(0|[1-9][0-9]{0,14})$';
  const digits = new RegExp(pattern);
  return {
    schema: Type.Union([Type.Integer({ minimum: min, maximum: max }), Type.String({ pattern })], { description }),
    parse: (value) => {
      if (typeof value === 'string') return digits.test(value) ? Number(value) : BODY;
      return Number.isSafeInteger(value) && value as number >= min && value as number <= max ? value as number : BODY;
    },
  };
};

/** The recovery id: 27 or 28, or 0 or 1 for the same; another number is a fault of the signature. */
export const recoveryId = (description: string): BodyField<27 | 28> => ({
  schema: Type.Union([0, 1, 27, 28, '0', '1', '27', '28'].map((each) => Type.Literal(each)), { description }),
  parse: (value) => {
    switch (wholeNumber(value)) {
      case undefined: return BODY;
      case 0:
      case 27: return 27;
      case 1:
      case 28: return 28;
      default: return SIGNATURE;
    }
  },
});

/** A half of a signature: 66 characters of hex. Another text is a fault of the signature. */
export const signatureWord = (description: string): BodyField<string> => ({
  schema: { ...AnyCaseBytes32, description },
  parse: (value) => typeof value !== 'string' ? BODY : isBytes32(value) ? value.toLowerCase() : SIGNATURE,
});

/** A field that may be absent or null. */
export const optional = <T>({ schema, parse }: BodyField<T>): BodyField<T | undefined> => ({
  schema: Type.Optional(schema), parse: (value) => value === undefined || value === null ? undefined : parse(value),
});

export type BodyFields = Readonly<Record<string, BodyField<unknown>>>;
export type Parsed<F extends BodyFields> = { readonly [Name in keyof F]: Exclude<ReturnType<F[Name]['parse']>, FieldFault> };

/**
 * The fields of an object, or the fault of the earliest stage. Fields that are not known are ignored, as clients of the interface may send
 * more than it names.
 */
export function parseFields<F extends BodyFields>(fields: F, object: unknown): Parsed<F> | FieldFault {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return BODY;
  const values: Record<string, unknown> = {};
  const faults: FieldFault[] = [];
  for (const [name, { parse }] of Object.entries(fields)) {
    const value = parse(Object.hasOwn(object, name) ? (object as Record<string, unknown>)[name] : undefined);
    if (value instanceof FieldFault) faults.push(value);
    else values[name] = value;
  }
  return earliest(faults) ?? values as Parsed<F>;
}

/** A list of objects with the same fields, or the fault of the earliest stage of any of them. */
export const objects = <F extends BodyFields>(fields: F, description: string): BodyField<readonly Parsed<F>[]> => ({
  schema: Type.Array(schemaOf(fields), { minItems: 1, description }),
  parse: (value) => {
    if (!Array.isArray(value) || value.length === 0) return BODY;
    const parsed = value.map((each) => parseFields(fields, each));
    return earliest(parsed.filter((each) => each instanceof FieldFault)) ?? parsed as Parsed<F>[];
  },
});

/** The schema of an object with these fields. */
export function schemaOf(fields: BodyFields): TSchema {
  return Type.Object(Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])));
}

function earliest(faults: readonly FieldFault[]): FieldFault | undefined {
  return faults.reduce<FieldFault | undefined>((first, each) => (
    first === undefined || STAGES.indexOf(each.stage) < STAGES.indexOf(first.stage) ? each : first), undefined);
}

/** A JSON integer or decimal digits; undefined for anything else, also beyond 2^53. */
function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? number as number : undefined;
}
