/**
 * Lets one process at a time own a directory: the operating system locks a file in it for the owner, and unlocks it
 * when the owner ends.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export class DirectoryInUse extends Error {
  constructor(directory: string, holder: string) {
    super(`${directory} is in use by process ${holder}: stop that process first, or use another directory (DATA_DIR)`);
    this.name = 'DirectoryInUse';
  }
}

/**
 * Locks the directory, which must exist, for this process. Returns a function that releases it, which can be called
 * again. Throws DirectoryInUse while a process holds the lock: another process, also in another container on the same
 * machine, or this process itself.
 */
export async function lockDirectory(directory: string): Promise<() => void> {
  const { tryLock } = await locks();
  const path = join(directory, 'lock');
  for (;;) {
    // Not a FileHandle: garbage collection of the handle would release the lock.
    const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o644);
    if (!tryLock(fd)) {
      closeSync(fd);
      throw new DirectoryInUse(directory, holderOf(path));
    }
    if (isAt(fd, path)) {
      ftruncateSync(fd);
      writeSync(fd, String(process.pid), 0);
      return releaseOf(fd, path);
    }
    // The previous holder removed the file after it was opened here: try again with the new file.
    closeSync(fd);
  }
}

function releaseOf(fd: number, path: string): () => void {
  let held = true;
  return () => {
    if (!held) return;
    held = false;
    // Removed while it is locked, so that this never removes the file of a later holder.
    rmSync(path, { force: true });
    closeSync(fd);
  };
}

function isAt(fd: number, path: string): boolean {
  const there = statSync(path, { throwIfNoEntry: false });
  const { dev, ino } = fstatSync(fd);
  return there?.dev === dev && there.ino === ino;
}

/** The holder's process id, for the error text only: the file may have changed since the lock was refused. */
function holderOf(path: string): string {
  try {
    return readFileSync(path, 'utf8') || '(unknown)';
  } catch {
    return '(unknown)';
  }
}

async function locks(): Promise<{ tryLock(fd: number): boolean }> {
  try {
    return await import('fs-native-extensions');
  } catch (cause) {
    throw new Error(`files cannot be locked on this system (${process.platform} ${process.arch}), so nothing can be embedded: `
      + 'set DATABASE_URL, and CHAINS to a chains file or none', { cause });
  }
}
