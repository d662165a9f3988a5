/** Compiles JSON schemas to validators: ajv's one home in the engine. */
import { Ajv, type ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';

const UINT64_MAX = '18446744073709551615';
const UINT256_MAX = (2n ** 256n - 1n).toString();

const formats = { uint64: (text: string) => isDecimal(text, UINT64_MAX), uint256: (text: string) => isDecimal(text, UINT256_MAX) };
const ajv = new Ajv({ strict: true, allErrors: false, formats });
/** For files that people write: slower, and open to costly inputs. */
const thorough = new Ajv({ strict: true, allErrors: true, formats });

/** A validator that narrows to the schema's type; its `errors` say what was wrong. */
export function compileSchema<T extends TSchema>(schema: T): ValidateFunction<Static<T>> {
  return ajv.compile<Static<T>>(schema);
}

/** The last validation's errors as one line: where, and what was expected. */
export function explain(validate: ValidateFunction): string {
  return ajv.errorsText(validate.errors, { dataVar: 'record' });
}

export interface Fault {
  /** JSON pointer; empty for the whole value. */
  readonly at: string;
  readonly what: string;
}

/** A function that finds everything that is wrong with a value, in the schema's order. Its texts show no values. */
export function faultFinder(schema: TSchema): (value: unknown) => Fault[] {
  const validate = thorough.compile(schema);
  return (value) => {
    validate(value);
    return (validate.errors ?? []).map(({ instancePath, keyword, params, message }) => {
      const { missingProperty, additionalProperty } = params as { missingProperty?: string; additionalProperty?: string };
      if (keyword === 'required') return { at: `${instancePath}/${escaped(missingProperty!)}`, what: 'is missing' };
      if (keyword === 'additionalProperties') return { at: `${instancePath}/${escaped(additionalProperty!)}`, what: 'is not known here' };
      return { at: instancePath, what: message ?? keyword };
    });
  };
}

/** A name as a part of a JSON pointer (RFC 6901). */
function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Decimal digits without a leading zero, at most `max` (of equal or greater length, compared as text). */
function isDecimal(text: string, max: string): boolean {
  if (text.length === 0 || text.length > max.length) return false;
  if (text.charCodeAt(0) === 48) return text.length === 1;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return false;
  }
  return text.length < max.length || text <= max;
}
