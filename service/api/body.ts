/** Request bodies: the schema that documents a body, and the parser of its bytes. */
import { RequestError } from '../../engine/records/errors.js';
import { record } from '../../engine/records/fields.js';
import { Type, type TSchema } from '../../engine/records/schema-types.js';
import type { ClientErrorCode } from './errors.js';
import { parseJsonObject } from '../../engine/records/exact-json.js';
import type { ParameterKind } from './request-fields.js';

/** The largest body of an ordinary endpoint. */
export const MAX_BODY_BYTES = 64 * 1024;

/** `T` is the parsed value that the handler receives. */
export interface Body<T = unknown> {
  readonly schema: TSchema;
  readonly examples: Readonly<Record<string, unknown>>;
  readonly limitBytes: number;
  /** Whether a request without a body is accepted. */
  readonly optional: boolean;
  /** The errors that `parse` throws. */
  readonly errors: readonly ClientErrorCode[];
  /** Parses the bytes, of which there are none without a body. Throws RequestError. */
  readonly parse: (bytes: Buffer) => T;
}

type BodyText = Pick<Body, 'examples' | 'limitBytes'>;

/** A body whose bytes the handler receives unparsed: the handler parses them by the schema. */
export function bytesOf(schema: TSchema, text: BodyText): Body<Buffer> {
  return { schema, ...text, optional: false, errors: [], parse: (bytes) => bytes };
}

type Kinds = Readonly<Record<string, ParameterKind<unknown>>>;
type Fields<K extends Kinds> = { readonly [Name in keyof K]: ReturnType<K[Name]['parse']> };

/** A JSON object with these fields and no others, each documented and parsed by its kind. Without a body, all fields are absent. */
export function objectOf<const K extends Kinds>(kinds: K, { optional, ...text }: BodyText & { readonly optional: boolean }): Body<Fields<K>> {
  const entries = Object.entries(kinds);
  const schema = record(Object.fromEntries(entries.map(([name, kind]) => [name, kind.required ? kind.schema : Type.Optional(kind.schema)])));
  return {
    schema, ...text, optional, errors: [...new Set<ClientErrorCode>(['invalid_json', 'invalid_request', ...entries.flatMap(([, kind]) => kind.errors)])],
    parse: (bytes) => {
      const object = bytes.length === 0 ? {} : parseJsonObject(bytes);
      const unknown = Object.keys(object).filter((name) => !Object.hasOwn(kinds, name)).map((name) => ({ field: `/${name}`, message: 'no such field' }));
      if (unknown.length > 0) throw new RequestError('invalid_request', '', unknown);
      return Object.fromEntries(entries.map(([name, kind]) => [name, kind.parse({ name, value: object[name] })])) as Fields<K>;
    },
  };
}
