/** What a run shows: a line per file, each failure at once and again at the end, how long each part took, what was left out, and how many passed. */
import type { Counts, Message } from './messages.js';

export interface Failure {
  readonly file: string;
  readonly title: string;
  readonly text: string;
}

export interface Part extends Counts {
  readonly name: string;
  readonly ms: number;
}

/** Tests that did not run, and why. */
export interface LeftOut {
  readonly reason: string;
  readonly files: readonly string[];
  readonly tests: number;
}

export interface Results {
  readonly failures: readonly Failure[];
  readonly parts: readonly Part[];
  readonly leftOut: readonly LeftOut[];
}

/** The line of a file that has ended; with `titles`, each of its tests too. */
export function fileLine({ file, ms, passed, failed, titles }: Extract<Message, { type: 'ended' }>, withTitles: boolean): string {
  const failing = failed === 0 ? '' : `, ${failed} failed`;
  const line = `${failed === 0 ? '✔' : '✘'} ${seconds(ms).padStart(7)}  ${file === '' ? 'after all tests' : file} (${passed} passed${failing})`;
  return [line, ...withTitles ? titles.map((title) => `            ${title}`) : []].join('\n');
}

export function failureText({ file, title, text }: Failure): string {
  return `✘ ${file}: ${title}\n${text.replaceAll(/^/gm, '    ')}`;
}

/** The last lines; the very last one is `N passed, N failed`, and `, N skipped` where tests were left out. */
export function summary({ failures, parts, leftOut }: Results): string {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  const skipped = sum(leftOut.map(({ tests }) => tests));
  return [
    ...failures.length === 0 ? [] : ['', 'Failures:', ...failures.map(failureText)],
    '', 'How long it took:', ...parts.map(({ name, ms, passed, failed }) => `${seconds(ms).padStart(9)}  ${name}${passed + failed === 0 ? '' : ` (${passed} passed, ${failed} failed)`}`),
    ...leftOut.length === 0 ? [] : ['', 'Left out:', ...leftOut.map(({ reason, files, tests }) => `  ${tests} tests of ${files.join(', ')}: ${reason}`)],
    '', `${sum(parts.map(({ passed }) => passed))} passed, ${sum(parts.map(({ failed }) => failed))} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`,
  ].join('\n');
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
