/**
 * Snapshots in a folder: how they are written, found and removed. Each is written to a temporary file and renamed, so a crash
 * damages none.
 */
import { mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Restored } from './snapshot-state.js';
import { decodeSnapshot } from './snapshot.js';

const NAME = /^snapshot-(\d{16})\.bin$/;
const UNFINISHED = /^snapshot-.*\.new$/;
const KEPT = 2;
/** A killed process left a temporary file that is older than this. */
const ABANDONED_MS = 3_600_000;

/** The position of the newest snapshot, also of an unreadable one; -1 when there is none. */
export async function newestSnapshot(directory: string): Promise<number> {
  const [newest] = await snapshotNames(directory);
  return newest === undefined ? -1 : Number(NAME.exec(newest)?.[1]);
}

/** Writes a snapshot durably and deletes all but the newest two. Several processes may share the folder. */
export async function saveSnapshot(directory: string, position: number, data: Uint8Array): Promise<void> {
  await mkdir(directory, { recursive: true });
  const path = join(directory, `snapshot-${String(position).padStart(16, '0')}.bin`);
  const unfinished = `${path}.${process.pid}.new`;
  try {
    const file = await open(unfinished, 'w');
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    // On a full disk, half a snapshot would take the space that the log and the next one need.
    await rm(unfinished, { force: true });
    throw error;
  }
  for (const old of (await snapshotNames(directory)).slice(KEPT)) await rm(join(directory, old), { force: true });
  await removeAbandoned(directory, (await stat(path)).mtimeMs);
}

/** Removes what a thread of this process has left of a snapshot. */
export async function removeUnfinished(directory: string): Promise<void> {
  const own = `.${process.pid}.new`;
  const left = (await readdir(directory).catch(() => [])).filter((name) => UNFINISHED.test(name) && name.endsWith(own));
  await Promise.all(left.map((name) => rm(join(directory, name), { force: true })));
}

async function removeAbandoned(directory: string, nowMs: number): Promise<void> {
  for (const name of (await readdir(directory)).filter((each) => UNFINISHED.test(each))) {
    const path = join(directory, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && nowMs - found.mtimeMs > ABANDONED_MS) await rm(path, { force: true });
  }
}

/** The newest undamaged snapshot that `accept` accepts; undefined when there is none. */
export async function loadSnapshot(
  directory: string, accept: (restored: Restored) => Promise<boolean>,
): Promise<Restored | undefined> {
  for (const name of await snapshotNames(directory)) {
    // Another process may have just deleted the file.
    const data = await readFile(join(directory, name)).catch(() => undefined);
    const restored = data === undefined ? undefined : decodeSnapshot(data);
    if (restored !== undefined && await accept(restored)) return restored;
  }
  return undefined;
}

/** Newest first. */
async function snapshotNames(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => NAME.test(name)).sort().reverse();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
