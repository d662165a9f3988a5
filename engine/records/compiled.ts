/**
 * Functions that are made of schemas at run time: readers, writers and validators of records. Where a policy forbids to
 * make code of text, as in the page, the build puts a module in the place of this one that has them made
 * (page/compiled-records.ts).
 */
import type { ValidateFunction } from 'ajv';
import type { TSchema } from './schema-types.js';
import { compileSchema } from './schema.js';

export interface FunctionCode {
  readonly parameters: readonly string[];
  readonly body: string;
}

/** What a schema has functions for, besides its validator. */
export type Use = 'read' | 'write';

/** The function that this code of a schema's is. */
export function functionOf(_schema: TSchema, _use: Use, { parameters, body }: FunctionCode): unknown {
  return new Function(...parameters, body);
}

/** The schema's validator, as `compileSchema` makes it. */
export function validatorOf(schema: TSchema): ValidateFunction {
  return compileSchema(schema);
}
