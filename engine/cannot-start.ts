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
