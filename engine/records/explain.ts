/** What a validator found wrong, in words. */
import type { ValidateFunction } from 'ajv';

/** The last validation's errors as one line: the field, and what was expected. */
export function explain({ errors }: ValidateFunction): string {
  return (errors ?? []).map(({ instancePath, message }) => `record${instancePath} ${message}`).join(', ');
}
