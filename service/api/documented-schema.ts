/**
 * A schema as documents show it: a projection of the one that types and checks come from, into forms that generators of
 * clients understand. OpenAPI's formats are among them, which validators do not know.
 */
import { nameOf, valueNamesOf } from '../../engine/records/named-schema.js';

type Json = Readonly<Record<string, unknown>>;

/** By these keywords generators name the values of an enum: OpenAPI Generator and its kin, and NSwag. */
const NAMES_KEYWORDS = ['x-enum-varnames', 'x-enumNames'] as const;

/** The schema itself, without the schemas in it. */
export function documentedSchema(schema: Json): Json {
  const names = valueNamesOf(schema);
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf)) {
    return { ...withFormat(schema), ...names !== undefined && Object.fromEntries(NAMES_KEYWORDS.map((each) => [each, names])) };
  }
  const choices = anyOf as readonly Json[];
  if (choices.every((each) => 'const' in each)) return { ...enumOf(choices.map((each) => each['const'])), ...rest };
  const [other, ...more] = choices.filter((each) => each['type'] !== 'null');
  return other !== undefined && more.length === 0 ? { ...orNull(other), ...rest } : schema;
}

/** A choice of constants of one type. */
function enumOf(values: readonly unknown[]): Json {
  const [type, ...others] = new Set(values.map((each) => typeof each));
  if (others.length > 0) throw new Error(`a choice of ${values.join()} has no type that documents can name: choose one form`);
  return withFormat({ type: type === 'number' ? 'integer' : type, enum: values });
}

/** A named object stays a reference, so that it has one type in clients; all else gets a second type. Null has no name among an enum's. */
function orNull(schema: Json): Json {
  const shown = Object.entries(documentedSchema(schema)).filter(([keyword]) => !(NAMES_KEYWORDS as readonly string[]).includes(keyword));
  const { type, enum: values, ...rest } = Object.fromEntries(shown);
  if (typeof type !== 'string') throw new Error(`${JSON.stringify(schema)} or null has no type that documents can name`);
  if (type === 'object' && nameOf(schema) !== undefined) return { oneOf: [schema, { type: 'null' }] };
  return { ...rest, type: [type, 'null'], ...Array.isArray(values) && { enum: [...values as unknown[], null] } };
}

const INT32_MAX = 2 ** 31 - 1;

/** The format of an integer follows from its bounds: amounts, which have no upper one, may be beyond 2^53. */
export function withFormat(schema: Json): Json {
  const { type, format, minimum, maximum, enum: values } = schema;
  if (type === 'number' && 'const' in schema) return withFormat({ ...schema, type: 'integer', enum: [schema['const']] });
  if (type !== 'integer' || format !== undefined) return schema;
  const most = Array.isArray(values) ? Math.max(...values as number[]) : maximum as number | undefined;
  if (most !== undefined) return { ...schema, format: most <= INT32_MAX ? 'int32' : 'int64' };
  return { ...schema, format: typeof minimum === 'number' && minimum >= 0 ? 'uint64' : 'int64' };
}
