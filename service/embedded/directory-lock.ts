/** Lets one process at a time own a directory: a lock file that names its holder, so that a dead holder's lock is taken over. */
import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processIdentity } from './process-identity.js';

export class DirectoryInUse extends Error {
  constructor(directory: string, holder: string) {
    super(`${directory} is in use by process ${holder.split(' ')[0]}: stop that one first, or give this one a directory of its own`);
    this.name = 'DirectoryInUse';
  }
}

/**
 * Locks the directory (which must exist) for this process and returns what releases it.
 * Throws DirectoryInUse while the process that holds it lives, this one included.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const path = join(directory, 'lock');
  const mine = join(directory, `lock.${randomBytes(8).toString('hex')}`);
  const identity = processIdentity(process.pid)!;
  await writeFile(mine, identity, { mode: 0o644 });
  try {
    // link() makes the lock appear with its whole content, or fails because there is one.
    while (!await linked(mine, path)) {
      const holder = await contents(path);
      if (holder === undefined) continue;
      if (processIdentity(Number.parseInt(holder, 10)) === holder) throw new DirectoryInUse(directory, holder);
      await takeAway({ path, holder, aside: `${mine}.stale` });
    }
  } finally {
    await rm(mine, { force: true });
  }
  return async () => {
    if (await contents(path) === identity) await rm(path, { force: true });
  };
}

/**
 * Removes a dead holder's lock. Of several who try, one gets to rename it; whoever finds that he renamed the successor's lock
 * instead puts it back.
 */
async function takeAway({ path, holder, aside }: { path: string; holder: string; aside: string }): Promise<void> {
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (await contents(aside) !== holder) await linked(aside, path);
  await rm(aside, { force: true });
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function contents(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
