/** How workers report to the operator, and how they speak of errors. */

/** `info`: for information. `warn`: the worker retries or works around it. `alert`: somebody must look. */
export type ReportLevel = 'info' | 'warn' | 'alert';

/** Takes what a worker reports. Texts never contain secrets. */
export type Report = (level: ReportLevel, text: string) => void;

/**
 * The error as one text. The errors of several attempts, such as one per address of a host, are joined: their own
 * message is empty.
 */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}

const PROGRAM_FAULTS = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];

/**
 * What a report says of an error: its message; of a fault in the program also the class, so that whoever reads the
 * report, or watches all of them, sees that trying again will not mend it.
 */
export function errorText(error: unknown): string {
  const isFault = error instanceof Error && PROGRAM_FAULTS.some((fault) => error instanceof fault);
  return isFault ? `${error.name}: ${error.message}` : messageOf(error);
}
