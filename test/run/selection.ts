/** Which test files run, and in which mocha processes. */
import { FILES_AT_ONCE, FIRST, KINDS, ON_DEMAND, STAGES, TOGETHER, isKind, kindOf, type Kind, type Share } from './kinds.js';

/** Files that one mocha process runs one after the other, or several between them. */
export interface Batch {
  /** Its kinds, or its only file. */
  readonly name: string;
  readonly processes: number;
  /** Paths below test/, which end in `.test.ts`. A process that is free takes the next ones; those that stand together run in the same process. */
  readonly files: readonly (readonly string[])[];
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
  const stages = [...STAGES, ...ON_DEMAND.map((kind) => [{ kinds: [kind] }])];
  return stages.map((stage) => stageOf(chosen, stage)).filter(({ batches }) => batches.length > 0);
}

function stageOf(chosen: readonly string[], shares: readonly Share[]): Stage {
  const batches = shares.map((share) => batchOf(share, chosen)).filter(({ files }) => files.length > 0);
  const name = batches.map((batch) => batch.name).join(', ');
  const atOnce = FILES_AT_ONCE[shares[0]!.kinds[0]!];
  if (atOnce === undefined) return { name, atOnce: batches.length, batches };
  return { name, atOnce, batches: batches.flatMap(({ files }) => files.flat().map(aloneOf)) };
}

/** A batch of one file. */
export function aloneOf(file: string): Batch {
  return { name: file, processes: 1, files: [[file]] };
}

/** The kinds of a share that have files, in their order, after the files that begin first. */
function batchOf({ kinds, processes = 1 }: Share, chosen: readonly string[]): Batch {
  const present = kinds.filter((kind) => chosen.some((file) => kindOf(file) === kind));
  const ofKind = (kind: Kind) => chosen.filter((file) => kindOf(file) === kind);
  const together = present.filter((kind) => TOGETHER.includes(kind)).map(ofKind);
  const others = present.filter((kind) => !TOGETHER.includes(kind)).flatMap(ofKind);
  const first = FIRST.filter((file) => others.includes(file));
  const files = [...together, ...[...first, ...others.filter((file) => !first.includes(file))].map((file) => [file])];
  return { name: present.join(', '), processes: Math.min(processes, files.length), files };
}

function isUsual(file: string): boolean {
  return STAGES.flat().some(({ kinds }) => kinds.includes(kindOf(file)!));
}

function namedBy(word: string, files: readonly string[]): readonly string[] {
  const named = files.filter((file) => isKind(word) ? kindOf(file) === word : word !== '' && file.includes(word));
  // Those on demand take much to prepare: a folder's name does not mean them.
  const usual = named.filter(isUsual);
  if (named.length > 0) return usual.length > 0 ? usual : named;
  throw new Error(`TESTS names no test by ${JSON.stringify(word)}: expected ${Object.keys(KINDS).join(', ')}, or a part of a test's path; `
    + 'several with commas between them');
}
