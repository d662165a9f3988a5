/** Names of schemas, so that a document can refer to a schema instead of repeating it. */
import type { TSchema } from './schema-types.js';

/** The key of a schema's name. A symbol, because validators ignore symbols and copies of the schema keep them. */
const NAME = Symbol('name');

interface Named {
  readonly [NAME]?: { readonly name: string; readonly original: TSchema };
}

/** Gives the schema a name, by which documents refer to it. A copy with another description keeps the name. */
export function named<T extends TSchema>(name: string, schema: T): T {
  return Object.assign(schema, { [NAME]: { name, original: schema } });
}

/** The name of a schema, also of a copy, with the schema that was named; undefined for a schema without a name. */
export function nameOf(schema: object): { readonly name: string; readonly original: TSchema } | undefined {
  return (schema as Named)[NAME];
}
