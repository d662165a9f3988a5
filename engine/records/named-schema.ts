/** Names of schemas, so that a document can refer to a schema instead of repeating it, and of the values of an enum. */
import type { TSchema } from './schema-types.js';

/** The key of a schema's name. A symbol, because validators ignore symbols and copies of the schema keep them. */
const NAME = Symbol('name');

interface Named {
  readonly [NAME]?: { readonly name: string; readonly original: TSchema };
}

/** The key of the names of an enum's values, in their order; a symbol for the same reason. */
const VALUE_NAMES = Symbol('names of values');

/** Gives the values of an enum names, for clients in languages that have enums. */
export function withValueNames<T extends TSchema>(schema: T, names: readonly string[]): T {
  return Object.assign(schema, { [VALUE_NAMES]: names });
}

/** The names of an enum's values, also of a copy; undefined for a schema without them. */
export function valueNamesOf(schema: object): readonly string[] | undefined {
  return (schema as { readonly [VALUE_NAMES]?: readonly string[] })[VALUE_NAMES];
}

/** Gives the schema a name, by which documents refer to it. A copy with another description keeps the name. */
export function named<T extends TSchema>(name: string, schema: T): T {
  return Object.assign(schema, { [NAME]: { name, original: schema } });
}

/** The name of a schema, also of a copy, with the schema that was named; undefined for a schema without a name. */
export function nameOf(schema: object): { readonly name: string; readonly original: TSchema } | undefined {
  return (schema as Named)[NAME];
}
