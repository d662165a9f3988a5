/** Which test files run, and in which mocha processes. */
import { FILES_AT_ONCE, KINDS, ON_DEMAND, STAGES, isKind, kindOf, type Kind } from './kinds.js';

/** Files that one mocha process runs, one after the other. */
export interface Batch {
  /** Its kinds, or its only file. */
  readonly name: string;
  /** Paths below test/, which end in `.test.ts`. */
  readonly files: readonly string[];
}

/** Batches of which so many run side by side. */
export interface Stage {
  /** Its kinds. */
  readonly name: string;
  readonly atOnce: number;
  readonly batches: readonly Batch[];
}

/**
 * The stages of a run, one after the other. `wanted` is what TESTS says: nothing for all, or kinds and parts of paths with commas between them.
 * Throws Error for a word that names no test.
 */
export function selectTests(files: readonly string[], wanted: string): readonly Stage[] {
  const named = wanted === '' ? files.filter(isUsual) : wanted.split(',').flatMap((word) => namedBy(word, files));
  const chosen = [...new Set(named)].sort();
  const lists = [...STAGES, ...ON_DEMAND.map((kind) => [[kind]])];
  return lists.map((stage) => stageOf(chosen, stage)).filter(({ batches }) => batches.length > 0);
}

function stageOf(chosen: readonly string[], stage: readonly (readonly Kind[])[]): Stage {
  const batches = numbered(stage.map((kinds, i) => batchOf(kinds, dealt(chosen, stage, i))));
  const name = batches.map((batch) => batch.name).join(', ');
  const atOnce = FILES_AT_ONCE[stage[0]![0]!];
  if (atOnce === undefined) return { name, atOnce: batches.length, batches };
  return { name, atOnce, batches: batches.flatMap(({ files }) => files.map((file) => ({ name: file, files: [file] }))) };
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
