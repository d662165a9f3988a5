/** Compiles JSON schemas to validators: ajv's one home in the engine. */
import { Ajv, type ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';

const UINT64_MAX = '18446744073709551615';
const UINT256_MAX = (2n ** 256n - 1n).toString();

const ajv = new Ajv({ strict: true, allErrors: false });
ajv.addFormat('uint64', (text: string) => isDecimal(text, UINT64_MAX));
ajv.addFormat('uint256', (text: string) => isDecimal(text, UINT256_MAX));

/** A validator that narrows to the schema's type; its `errors` say what was wrong. */
export function compileSchema<T extends TSchema>(schema: T): ValidateFunction<Static<T>> {
  return ajv.compile<Static<T>>(schema);
}

/** The last validation's errors as one line: where, and what was expected. */
export function explain(validate: ValidateFunction): string {
  return ajv.errorsText(validate.errors, { dataVar: 'record' });
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
