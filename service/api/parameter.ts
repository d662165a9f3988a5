/** A parameter of an endpoint: its place in the request, its documentation and its parser. */
import type { TSchema } from '../../engine/records/schema-types.js';
import type { ClientErrorCode } from './errors.js';
import { valueOf, type RequestField } from './request-fields.js';

/** `T` is the parsed value that the handler receives. */
export interface Parameter<T = unknown> {
  /** The name in the request. */
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: TSchema;
  readonly example: string | number;
  /** The errors that `parse` throws. */
  readonly errors: readonly ClientErrorCode[];
  /** Parses the value that was sent; undefined means that the parameter is absent. Throws RequestError. */
  readonly parse: (value: unknown) => T;
}

/** What the API document says of a parameter. */
export interface ParameterText {
  readonly description: string;
  readonly example: string | number;
}

export function inPath<T>(name: string, field: RequestField<T>, text: ParameterText): Parameter<T> {
  return parameter('path', name, field, text);
}

export function inQuery<T>(name: string, field: RequestField<T>, text: ParameterText): Parameter<T> {
  return parameter('query', name, field, text);
}

export function inHeader<T>(name: string, field: RequestField<T>, text: ParameterText): Parameter<T> {
  return parameter('header', name, field, text);
}

function parameter<T>(place: Parameter['in'], name: string, field: RequestField<T>, text: ParameterText): Parameter<T> {
  const { schema, required, errors } = field;
  return { name, in: place, required, schema, ...text, errors: ['invalid_request', ...errors], parse: (value) => valueOf(name, field, value) };
}
