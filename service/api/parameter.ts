/** A parameter of an endpoint: where it stands, what it means, and what its text becomes. */
import type { TSchema } from 'typebox';
import type { ErrorCode } from '../../engine/records/errors.js';
import type { ParameterKind } from '../../query/parameters.js';

/** `T` is what the handler is given. */
export interface Parameter<T = unknown> {
  /** As it is sent. */
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: TSchema;
  readonly example: string | number;
  /** The errors that `parse` throws. */
  readonly errors: readonly ErrorCode[];
  /** The value of what was sent; undefined stands for a parameter that is absent. Throws RequestError. */
  readonly parse: (value: unknown) => T;
}

export interface Told {
  readonly description: string;
  readonly example: string | number;
}

export function inPath<T>(name: string, kind: ParameterKind<T>, told: Told): Parameter<T> {
  return parameter('path', name, kind, told);
}

export function inQuery<T>(name: string, kind: ParameterKind<T>, told: Told): Parameter<T> {
  return parameter('query', name, kind, told);
}

export function inHeader<T>(name: string, kind: ParameterKind<T>, told: Told): Parameter<T> {
  return parameter('header', name, kind, told);
}

function parameter<T>(place: Parameter['in'], name: string, { schema, required, errors, parse }: ParameterKind<T>, told: Told): Parameter<T> {
  return { name, in: place, required, schema, ...told, errors: ['invalid_request', ...errors], parse: (value) => parse({ name, value }) };
}
