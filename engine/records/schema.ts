/** Compiles JSON schemas to validators. Only this module makes ajv instances. */
import { Ajv, type ValidateFunction } from 'ajv';
import { formats } from './integers.js';
import type { Static, TSchema } from './schema-types.js';

/**
 * A process that starts does not check its own schemas against the schema of schemas, which took 35 ms; tests do.
 * Without ajv's own optimisation all records' validators take 150 ms instead of 300 ms to compile, and are as fast: V8
 * does the same.
 */
export const options = { strict: true, validateSchema: false, meta: false, code: { optimize: false }, formats };
const ajv = new Ajv({ ...options, allErrors: false });
/** For files that people write: it finds all errors, so it is slower, and a hostile input can cost much time. */
const thorough = new Ajv({ ...options, allErrors: true });

/** A validator that narrows to the schema's type. Its `errors` tell what was wrong with the last value. */
export function compileSchema<T extends TSchema>(schema: T): ValidateFunction<Static<T>> {
  return ajv.compile<Static<T>>(schema);
}

export interface Fault {
  /** JSON pointer; empty for the whole value. */
  readonly at: string;
  readonly what: string;
}

/** A function that finds all faults of a value, in the schema's order. The faults' texts do not show values. */
export function faultFinder(schema: TSchema): (value: unknown) => Fault[] {
  const validate = thorough.compile(schema);
  return (value) => {
    validate(value);
    return (validate.errors ?? []).map(({ instancePath, keyword, params, message }) => {
      const { missingProperty, additionalProperty } = params as { missingProperty: string; additionalProperty: string };
      if (keyword === 'required') return { at: `${instancePath}/${escaped(missingProperty)}`, what: 'is missing' };
      if (keyword === 'additionalProperties') return { at: `${instancePath}/${escaped(additionalProperty)}`, what: 'is not known here' };
      return { at: instancePath, what: message ?? keyword };
    });
  };
}

/** A name as a part of a JSON pointer (RFC 6901). */
function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
