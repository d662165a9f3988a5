/**
 * The named schemas of an OpenAPI document. Every use of a named schema is a reference, so generated clients have one
 * type for it.
 */
import { nameOf } from '../../engine/records/named-schema.js';
import { documentedSchema } from './documented-schema.js';

type Json = Readonly<Record<string, unknown>>;

export interface Components {
  /**
   * The schema as it appears in the document: a reference if the schema has a name. Throws when two schemas have the
   * same name.
   */
  refer(schema: object): Json;
  /** The schemas referred to so far, by name. */
  readonly schemas: Json;
}

/** Components without schemas. */
export function createComponents(): Components {
  const schemas: Record<string, Json> = {};
  const originals = new Map<string, string>();

  const write = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(write);
    return typeof value === 'object' && value !== null ? refer(value) : value;
  };
  const parts = (schema: object): Json => (
    Object.fromEntries(Object.entries(documentedSchema(schema as Json)).map(([key, value]) => [key, write(value)])));

  function refer(schema: object): Json {
    const found = nameOf(schema);
    if (found === undefined) return parts(schema);
    const { name, original } = found;
    const text = JSON.stringify(original);
    if (!originals.has(name)) {
      originals.set(name, text);
      schemas[name] = parts(original);
    } else if (originals.get(name) !== text) throw new Error(`two different schemas have the name ${name}`);
    const { description, default: byDefault } = schema as { description?: string; default?: unknown };
    return {
      $ref: `#/components/schemas/${name}`,
      ...description !== (original as { description?: string }).description && { description },
      ...byDefault !== undefined && { default: byDefault },
    };
  }

  return { refer, schemas };
}
