/** How the auditing tools end: a difference and an audit that could not be made are not the same. */
import { inspect } from 'node:util';
import { CommanderError, type Command } from 'commander';
import { messageOf } from '../../engine/report.js';
import { printable } from './printable.js';

export const PASSED = 0;
/** Something differs: the report says what. */
export const DIFFERS = 1;
/** Bad arguments, a service or node that cannot be reached, a file that cannot be read: nothing is known to be wrong with the history. */
export const NOT_AUDITED = 2;

export const EXIT_CODES = `
Exit codes: 0 nothing differs in the checks that were made, 1 something differs, 2 the audit could not be made (wrong arguments, a
service, node or database that cannot be reached, a damaged file, an interruption).`;

/** Runs the program; what it throws ends with one sentence and code 2. */
export async function runProgram(program: Command, argv: readonly string[]): Promise<void> {
  try {
    await program.exitOverride().configureOutput({ outputError: (text, write) => { write(withoutValues(text)); } }).parseAsync(argv);
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? PASSED : NOT_AUDITED;
      return;
    }
    process.stderr.write(`${argv.includes('--debug') ? inspect(error) : messageOf(error).split('\n').map(printable).join('\n')}\n`);
    process.exitCode = NOT_AUDITED;
  }
}

/** What commander says of a wrong option, without its value: a URL that was mistyped has a password or a node's key all the same. */
function withoutValues(text: string): string {
  return text.replace(/ argument '.*' is invalid\./s, ' is invalid:').replace(/(unknown option '[^'=]*)=.*'/s, '$1\'');
}
