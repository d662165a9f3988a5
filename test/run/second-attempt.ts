/** Which files run once more, alone, when all others are done. */
import { kindOf, type Kind } from './kinds.js';
import type { Failure } from './report.js';

/** Where more files have failed, it was not chance. */
const MOST = 3;
/** They wait for nothing outside of their process: what fails by chance there is a seed that shows a fault. */
const NEVER: readonly (Kind | undefined)[] = ['unit', 'slow'];

/**
 * The files that have failed, where they are few and nothing else has failed: a process that does not end, say. A file that has failed beside others
 * and passes alone was short of processor time; the report shows its failure either way.
 */
export function filesToRepeat(failures: readonly Failure[], files: readonly string[]): readonly string[] {
  const failed = [...new Set(failures.map(({ file }) => file))];
  const canRepeat = (file: string) => files.includes(file) && !NEVER.includes(kindOf(file));
  return failed.length <= MOST && failed.every(canRepeat) ? failed : [];
}
