/** Errors of a start: one sentence that says what is wrong and what to do, whatever the error behind it says. */

/** The program cannot start. The message names the setting, and says what to do. */
export class CannotStart extends Error {
  /** Whether another start with the same settings would fail again. */
  readonly hopeless: boolean;

  constructor(message: string, { hopeless, cause }: { readonly hopeless: boolean; readonly cause?: unknown }) {
    super(message, { cause });
    this.name = 'CannotStart';
    this.hopeless = hopeless;
  }
}

/** The error as one text. The errors of several attempts, such as one per address of a host, are joined: their own message is empty. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
