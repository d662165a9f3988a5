/** What the command-line tools have in common: an error ends them with one sentence and exit code 1; LOG_LEVEL=debug shows the stack too. */
import { inspect } from 'node:util';
import { InvalidArgumentError } from 'commander';
import { messageOf } from '../../engine/report.js';
import { SettingError, type Parse } from '../../service/settings.js';

/** Wraps the action of a tool. */
export function toolAction<Args extends unknown[]>(
  action: (...args: Args) => Promise<void>, environment: Readonly<Record<string, string | undefined>>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      await action(...args);
    } catch (error) {
      process.stderr.write(`${environment['LOG_LEVEL'] === 'debug' ? inspect(error) : messageOf(error)}\n`);
      process.exitCode = 1;
    }
  };
}

/** An option's parser that reports what was expected as commander does. */
export function argument<T>(parse: Parse<T>): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      throw error instanceof SettingError ? new InvalidArgumentError(error.message) : error;
    }
  };
}
