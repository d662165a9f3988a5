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
    numbered(stage.map((kinds, i) => batchOf(kinds, dealt(chosen, stage, i)))));
  return stages.map(batchesOf).filter((batches) => batches.length > 0);
}

/** Those that have files; of the same kinds, with numbers. */
function numbered(batches: readonly Batch[]): Batch[] {
  const full = batches.filter(({ files }) => files.length > 0);
  return full.map(({ name, files }, i) => {
    const alike = full.filter((batch) => batch.name === name);
    return { name: alike.length === 1 ? name : `${name} (${alike.indexOf(full[i]!) + 1} of ${alike.length})`, files };
  });
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

/** The files for list `i` of a stage: of a kind that several lists have, each gets every second one, or as many as there are lists. */
function dealt(files: readonly string[], stage: readonly (readonly Kind[])[], i: number): readonly string[] {
  const turns = new Map<Kind, number>();
  return files.filter((file) => {
    const kind = kindOf(file)!;
    const lists = [...stage.keys()].filter((list) => stage[list]?.includes(kind));
    const turn = turns.get(kind) ?? 0;
    turns.set(kind, turn + 1);
    return lists[turn % lists.length] === i;
  });
}

function batchOf(kinds: readonly Kind[], files: readonly string[]): Batch {
  return { name: kinds.filter((kind) => files.some((file) => kindOf(file) === kind)).join(', '), files };
}
