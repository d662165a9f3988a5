/**
 * Watches the free space of every disk that a process writes to: order intake stops before one is full, and resumes
 * when there is room again. Directories on one file system count once.
 */
import { stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { DiskState } from '../status/process-state.js';

/** A file system. */
export interface Space {
  /** Equal for directories on the same file system. */
  readonly device: number;
  /** Free for this process. */
  readonly freeBytes: number;
}

/** The file system of an absolute path. */
export type SpaceOf = (path: string) => Promise<Space>;

/** Of a path that does not exist yet: the file system of its nearest parent. */
export const spaceOf: SpaceOf = async (path) => {
  try {
    const [{ bavail, bsize }, { dev }] = await Promise.all([statfs(path), stat(path)]);
    return { device: dev, freeBytes: bavail * bsize };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    return spaceOf(dirname(path));
  }
};

export interface Directory {
  /** For operators and metrics: the same on every machine. */
  readonly name: string;
  readonly path: string;
}

/** Where a process writes. Each may be a disk of its own; one that is not there yet is on the disk of DATA_DIR. */
export function directoriesOf(dataDir: string): readonly Directory[] {
  const path = resolve(dataDir);
  const folders = ['postgres', 'chain', 'snapshots'].map((below) => ({ name: `DATA_DIR/${below}`, path: join(path, below) }));
  return [{ name: 'DATA_DIR', path }, ...folders];
}

export interface DiskWatch {
  /** Why no order may be taken; undefined while there is room. */
  shortage(): string | undefined;
  /** The disks, each by the first of its directories; empty before the first look. */
  disks(): readonly DiskState[];
  /** Measures now. */
  look(): Promise<void>;
}

export interface DiskOptions {
  readonly directories: readonly Directory[];
  /** Below this, orders are refused; 0 never refuses. */
  readonly minFreeBytes: number;
  readonly spaceOf: SpaceOf;
  readonly report: (level: 'info' | 'error', fields: Readonly<Record<string, unknown>>, message: string) => void;
}

/** Orders are taken again when this many times the minimum is free, so that intake does not flicker at the minimum. */
const RESUME_AT = 1.25;

const NEARLY_FULL = 'the disk is nearly full: orders are refused until there is more space; cancels are still taken';

/** Whether the disk counts as short of space: from below the minimum until above 1.25 times the minimum. */
export function isShort(wasShort: boolean, freeBytes: number, minFreeBytes: number): boolean {
  return freeBytes < (wasShort ? minFreeBytes * RESUME_AT : minFreeBytes);
}

export function watchDisks({ directories, minFreeBytes, spaceOf: measure, report }: DiskOptions): DiskWatch {
  let measured: readonly Measured[] = [];
  let short: ReadonlySet<string> = new Set();
  return {
    shortage() {
      const found = measured.find(({ name }) => short.has(name));
      if (found === undefined) return undefined;
      return `${placeOf(found)} has ${megabytes(found.freeBytes)} MB free and needs ${megabytes(minFreeBytes)} MB`;
    },
    disks: () => measured.map(({ name, freeBytes }) => ({ directory: name, freeBytes, minFreeBytes })),
    async look() {
      measured = await measureEach(directories, measure, measured);
      const wasShort = short;
      const shortNow = measured.filter(({ name, freeBytes }) => isShort(wasShort.has(name), freeBytes, minFreeBytes));
      short = new Set(shortNow.map(({ name }) => name));
      for (const { name, path, freeBytes } of measured) {
        const fields = { directory: name, path, freeBytes, minFreeBytes };
        if (short.has(name) === wasShort.has(name)) continue;
        if (short.has(name)) report('error', fields, NEARLY_FULL); else report('info', fields, 'the disk has space again: orders are taken');
      }
    },
  };
}

interface Measured extends Directory, Space {}

/** Each file system once. One that does not tell its space now keeps what it told last. */
async function measureEach(
  directories: readonly Directory[], measure: SpaceOf, before: readonly Measured[],
): Promise<readonly Measured[]> {
  const all = await Promise.all(directories.map(async (directory) => (
    await measure(directory.path).then(
      (space) => ({ ...directory, ...space }), () => before.find(({ name }) => name === directory.name),
    ))));
  const devices = new Set<number>();
  return all.filter((each) => each !== undefined).filter(({ device }) => {
    const isNew = !devices.has(device);
    devices.add(device);
    return isNew;
  });
}

/** The fullest disk of a process, in words; undefined when none can be measured. */
export async function fullestDisk(dataDir: string, measure: SpaceOf): Promise<string | undefined> {
  const [fullest] = [...await measureEach(directoriesOf(dataDir), measure, [])]
    .sort((a, b) => a.freeBytes - b.freeBytes);
  return fullest === undefined ? undefined : `${placeOf(fullest)} has ${fullest.freeBytes} bytes free`;
}

function placeOf({ name, path }: Directory): string {
  return `the disk of ${name} (${path})`;
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / 1_000_000);
}
