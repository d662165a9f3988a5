/** Snapshots in a folder: written beside and renamed, so that a crash leaves the old ones; the newest good one is read. */
import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeSnapshot, type Restored } from './snapshot.js';

const NAME = /^snapshot-(\d{16})\.bin$/;
const KEPT = 2;

/** Durably writes a snapshot's bytes under its position and forgets all but the newest two. */
export async function saveSnapshot(directory: string, position: number, data: Uint8Array): Promise<void> {
  await mkdir(directory, { recursive: true });
  const path = join(directory, `snapshot-${String(position).padStart(16, '0')}.bin`);
  const file = await open(`${path}.new`, 'w');
  try {
    await file.writeFile(data);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  for (const old of (await snapshotNames(directory)).slice(KEPT)) await rm(join(directory, old));
}

/** The newest snapshot that can be read and that `accept` agrees to; undefined when there is none. Damaged ones are passed over. */
export async function loadSnapshot(directory: string, accept: (restored: Restored) => Promise<boolean>): Promise<Restored | undefined> {
  for (const name of await snapshotNames(directory)) {
    const restored = decodeSnapshot(await readFile(join(directory, name)));
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
