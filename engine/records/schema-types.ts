/**
 * Typed JSON schemas: TypeBox's types, and as much of its functions as we use. Loading the package itself takes 200 ms
 * of processor time, a fifth of a start, in each process and thread; its types are gone when a program runs.
 */
import type TypeBox from 'typebox';

export type { Static, TObject, TObjectOptions, TProperties, TSchema } from 'typebox';

type Options = Readonly<Record<string, unknown>>;
type Schema = Options & { readonly properties?: Properties };
type Properties = Readonly<Record<string, Schema>>;

/** Schemas of fields that may be absent. A copy with another description is not among them, as with TypeBox. */
const absent = new WeakSet<object>();

function optional(schema: Schema): Schema {
  const copy = { ...schema };
  absent.add(copy);
  return copy;
}

function object(properties: Properties, options?: Options): Schema {
  const required = Object.entries(properties).filter(([, schema]) => !absent.has(schema)).map(([name]) => name);
  return { type: 'object', ...required.length > 0 ? { required } : {}, properties, ...options };
}

const functions = {
  Array: (items: Schema, options?: Options) => ({ type: 'array', items, ...options }),
  Boolean: (options?: Options) => ({ type: 'boolean', ...options }),
  Integer: (options?: Options) => ({ type: 'integer', ...options }),
  Literal: (value: unknown, options?: Options) => ({ type: typeof value, const: value, ...options }),
  Null: (options?: Options) => ({ type: 'null', ...options }),
  Number: (options?: Options) => ({ type: 'number', ...options }),
  Object: object,
  Omit: ({ properties = {} }: Schema, names: readonly string[]) => object(without(properties, names)),
  Optional: optional,
  Partial: ({ properties = {} }: Schema) => object(
    Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, optional(schema)])),
  ),
  Record: (_names: Schema, schema: Schema, options?: Options) => ({ type: 'object', additionalProperties: schema, ...options }),
  String: (options?: Options) => ({ type: 'string', ...options }),
  Union: (anyOf: readonly Schema[], options?: Options) => ({ anyOf, ...options }),
  Unknown: (options?: Options) => ({ ...options }),
  Unsafe: (schema: Schema) => ({ ...schema }),
};

function without(properties: Properties, names: readonly string[]): Properties {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name)));
}

/** TypeBox's functions, with its types: each returns a JSON schema whose type says which values it takes (`Static`). */
export const Type = functions as unknown as Pick<typeof TypeBox, keyof typeof functions>;
