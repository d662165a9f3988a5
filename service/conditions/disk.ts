/** Watches the free space of the disk that DATA_DIR is on: order intake stops before the disk is full, and resumes when there is room again. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DiskHealth } from '../process/readiness.js';

/** Free bytes for this process on the disk of an absolute path. */
export type FreeBytesOf = (path: string) => Promise<number>;

/** Of a path that does not exist yet: the disk of its nearest parent. */
export const freeBytesOf: FreeBytesOf = async (path) => {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    return freeBytesOf(dirname(path));
  }
};

export interface DiskWatch {
  /** Why no order may be taken; undefined while there is room. */
  shortage(): string | undefined;
  health(): DiskHealth | undefined;
  /** Measures now. */
  look(): Promise<void>;
}

export interface DiskOptions {
  readonly directory: string;
  /** Below this, orders are refused; 0 never refuses. */
  readonly minFreeBytes: number;
  readonly freeBytesOf: FreeBytesOf;
  readonly report: (level: 'info' | 'error', fields: Readonly<Record<string, unknown>>, message: string) => void;
}

/** Orders are taken again when this many times the minimum is free, so that intake does not flicker at the minimum. */
const RESUME_AT = 1.25;

/** Whether the disk counts as short of space: from below the minimum until above 1.25 times the minimum. */
export function isShort(wasShort: boolean, freeBytes: number, minFreeBytes: number): boolean {
  return freeBytes < (wasShort ? minFreeBytes * RESUME_AT : minFreeBytes);
}

export function watchDisk({ directory, minFreeBytes, freeBytesOf: measure, report }: DiskOptions): DiskWatch {
  let freeBytes: number | undefined;
  let short = false;
  return {
    shortage() {
      if (!short || freeBytes === undefined) return undefined;
      return `the disk of DATA_DIR (${directory}) has ${megabytes(freeBytes)} MB free and needs ${megabytes(minFreeBytes)} MB`;
    },
    health: () => freeBytes === undefined ? undefined : { freeBytes, minFreeBytes },
    async look() {
      try {
        freeBytes = await measure(directory);
      } catch {
        // Not every file system tells its free space.
        return;
      }
      const wasShort = short;
      short = isShort(wasShort, freeBytes, minFreeBytes);
      if (short === wasShort) return;
      const fields = { directory, freeBytes, minFreeBytes };
      if (short) report('error', fields, 'the disk is nearly full: orders are refused until there is more space; cancels are still taken');
      else report('info', fields, 'the disk has space again: orders are taken');
    },
  };
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / 1_000_000);
}
