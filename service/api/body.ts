/** Request bodies: the schema that documents a body, and the parser of its bytes. */
import { RequestError } from '../../engine/records/errors.js';
import { record } from '../../engine/records/fields.js';
import { Type, type TSchema } from '../../engine/records/schema-types.js';
import type { ClientErrorCode } from './errors.js';
import { parseJsonObject } from '../../engine/records/exact-json.js';
import { valueOf, type RequestField, type ValueOf } from './request-fields.js';

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

type Fields = Readonly<Record<string, RequestField<unknown>>>;
type Values<F extends Fields> = { readonly [Name in keyof F]: ValueOf<F[Name]> };

/** A JSON object with these fields and no others. Without a body, all fields are absent. */
export function objectOf<const F extends Fields>(fields: F, { optional, ...text }: BodyText & { readonly optional: boolean }): Body<Values<F>> {
  const entries = Object.entries(fields);
  const schema = record(Object.fromEntries(entries.map(([name, field]) => [name, field.required ? field.schema : Type.Optional(field.schema)])));
  return {
    schema, ...text, optional, errors: [...new Set<ClientErrorCode>(['invalid_json', 'invalid_request', ...entries.flatMap(([, field]) => field.errors)])],
    parse: (bytes) => {
      const object = bytes.length === 0 ? {} : parseJsonObject(bytes);
      const unknown = Object.keys(object).filter((name) => !Object.hasOwn(fields, name)).map((name) => ({ field: `/${name}`, message: 'no such field' }));
      if (unknown.length > 0) throw new RequestError('invalid_request', '', unknown);
      return Object.fromEntries(entries.map(([name, field]) => [name, valueOf(name, field, object[name])])) as Values<F>;
    },
  };
}
