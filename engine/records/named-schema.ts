/** Names of schemas, so that a document can refer to a schema instead of repeating it. */
import type { TSchema } from 'typebox';

/** Where a named schema keeps its name. A symbol: validators do not see it, and copies of the schema keep it. */
const NAME = Symbol('name');

interface Named {
  readonly [NAME]?: { readonly name: string; readonly original: TSchema };
}

/** The schema under a name, by which documents refer to it. A copy with a description of its own still has the name. */
export function named<T extends TSchema>(name: string, schema: T): T {
  return Object.assign(schema, { [NAME]: { name, original: schema } });
}

/** The name of a schema or of what it was copied from, with the schema that was named; undefined where it has no name. */
export function nameOf(schema: object): { readonly name: string; readonly original: TSchema } | undefined {
  return (schema as Named)[NAME];
}
