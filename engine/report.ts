/** How workers report to the operator, and how they speak of errors. */

/** `note`: for information. `trouble`: the worker retries or works around it. `alarm`: somebody must look. Texts never contain secrets. */
export type Report = (level: 'note' | 'trouble' | 'alarm', text: string) => void;

const PROGRAM_FAULTS = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];

/**
 * What a report says of an error: its message; of a fault in the program also the class, so that whoever reads the report, or watches all of
 * them, sees that trying again will not mend it.
 */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return PROGRAM_FAULTS.some((fault) => error instanceof fault) ? `${error.name}: ${error.message}` : error.message;
}
