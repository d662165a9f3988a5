/** What happens in a run, line by line; two runs of one seed give the same lines. */
import { createHash } from 'node:crypto';

export interface Trace {
  note(line: string): void;
  /** The latest lines, for a report. */
  latest(): readonly string[];
  lines(): number;
  /** Of all lines. */
  hash(): string;
}

const KEPT = 400;

/** `print` gets every line at once. */
export function createTrace(now: () => number, print?: (line: string) => void): Trace {
  const hash = createHash('sha256');
  let kept: string[] = [];
  let count = 0;
  return {
    note(text) {
      const line = `${now().toFixed(3).padStart(12)}  ${text}`;
      hash.update(`${line}\n`);
      count += 1;
      kept.push(line);
      if (kept.length > 2 * KEPT) kept = kept.slice(-KEPT);
      print?.(line);
    },
    latest: () => kept.slice(-KEPT),
    lines: () => count,
    hash: () => hash.copy().digest('hex'),
  };
}
