/** Which test files run, and in which mocha processes. */
import { KINDS, ON_DEMAND, STAGES, isKind, kindOf, type Kind } from './kinds.js';

/** Files that one mocha process runs, one after the other. */
export interface Batch {
  /** Its kinds. */
  readonly name: string;
  /** Paths below test/, which end in `.test.ts`. */
  readonly files: readonly string[];
}

/**
 * The stages of a run, one after the other; the batches of one run side by side. `wanted` is what TESTS says: nothing for
 * all, or kinds and parts of paths with commas between them. Throws Error for a word that names no test.
 */
export function selectTests(files: readonly string[], wanted: string): readonly (readonly Batch[])[] {
  const named = wanted === '' ? files.filter(isUsual) : wanted.split(',').flatMap((word) => namedBy(word, files));
  const chosen = [...new Set(named)].sort();
  const stages = [...STAGES, ...ON_DEMAND.map((kind) => [[kind]])];
  const batchesOf = (stage: readonly (readonly Kind[])[]) => (
    stage.map((kinds) => batchOf(kinds, chosen)).filter((batch) => batch.files.length > 0));
  return stages.map(batchesOf).filter((batches) => batches.length > 0);
}

function isUsual(file: string): boolean {
  return STAGES.flat(2).includes(kindOf(file)!);
}

function namedBy(word: string, files: readonly string[]): readonly string[] {
  const named = files.filter((file) => isKind(word) ? kindOf(file) === word : word !== '' && file.includes(word));
  // Those on demand take much to prepare: a folder's name does not mean them.
  const usual = named.filter(isUsual);
  if (named.length > 0) return usual.length > 0 ? usual : named;
  throw new Error(`TESTS names no test by ${JSON.stringify(word)}: expected ${Object.keys(KINDS).join(', ')}, or a part of a test's path; `
    + 'several with commas between them');
}

function batchOf(kinds: readonly Kind[], chosen: readonly string[]): Batch {
  const files = chosen.filter((file) => kinds.includes(kindOf(file)!));
  return { name: kinds.filter((kind) => files.some((file) => kindOf(file) === kind)).join(', '), files };
}
