/** What a run shows: a line per file, each failure at once and again at the end, how long each part took, what was left out, and how many passed. */
import type { Counts, Message } from './messages.js';

export interface Failure {
  readonly file: string;
  readonly title: string;
  readonly text: string;
}

export interface Part {
  readonly name: string;
  readonly ms: number;
  /** By file, or by the part's name for what has failed outside of files. */
  readonly counts: ReadonlyMap<string, Counts>;
}

/** Tests that did not run, and why. */
export interface LeftOut {
  readonly reason: string;
  readonly files: readonly string[];
  readonly tests: number;
}

export interface Results {
  readonly failures: readonly Failure[];
  /** In order: what a file's last attempt has counted replaces what the one before has. */
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

/** Of several counts, one. */
export function total(counts: Iterable<Counts>): Counts {
  let [passed, failed] = [0, 0];
  for (const each of counts) {
    passed += each.passed;
    failed += each.failed;
  }
  return { passed, failed };
}

/** Each file's last attempt. */
export function lastAttempts(parts: readonly Part[]): ReadonlyMap<string, Counts> {
  return new Map(parts.flatMap(({ counts }) => [...counts]));
}

/** The last lines; the very last one is `N passed, N failed`, and `, N skipped` where tests were left out. */
export function summary({ failures, parts, leftOut }: Results): string {
  const last = lastAttempts(parts);
  const { passed, failed } = total(last.values());
  const hasPassedSince = ({ file }: Failure) => last.get(file)?.failed === 0;
  const skipped = leftOut.reduce((sum, { tests }) => sum + tests, 0);
  return [
    ...section('Failures:', failures.filter((failure) => !hasPassedSince(failure)).map(failureText)),
    ...section('Failed, and passed when their file ran once more, alone:', failures.filter(hasPassedSince).map(failureText)),
    ...section('How long it took:', parts.map(partLine)),
    ...section('Left out:', leftOut.map(({ reason, files, tests }) => `  ${tests} tests of ${files.join(', ')}: ${reason}`)),
    '', `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`,
  ].join('\n');
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines];
}

function partLine({ name, ms, counts }: Part): string {
  const { passed, failed } = total(counts.values());
  return `${seconds(ms).padStart(9)}  ${name}${passed + failed === 0 ? '' : ` (${passed} passed, ${failed} failed)`}`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
