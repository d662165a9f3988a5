/**
 * Snapshots in a folder: when they are taken, and how. Each is written to a temporary file and renamed, so a crash
 * damages none.
 */
import { mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from './stepping.js';
import { decodeSnapshot, encodeSnapshot, type Restored } from './snapshot.js';

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
  const file = await open(unfinished, 'w');
  try {
    await file.writeFile(data);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
  for (const old of (await snapshotNames(directory)).slice(KEPT)) await rm(join(directory, old), { force: true });
  await removeAbandoned(directory, (await stat(path)).mtimeMs);
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

export interface SnapshotTaker {
  /** To be called after every command. Takes a snapshot when it is due and none is being written. */
  afterStep(): void;
  /** Waits for the snapshot that is being written, then takes the last one. */
  finish(): Promise<void>;
}

export interface SnapshotTakerOptions {
  /** Undefined: no snapshots are taken. */
  readonly folder: string | undefined;
  /** Commands between two snapshots. */
  readonly every?: number | undefined;
  readonly report: (message: string, details: Record<string, unknown>) => void;
  /** Writes a snapshot; tests give their own. */
  readonly save?: typeof saveSnapshot;
}

/** A snapshot that cannot be written is reported, and costs only time at the next start. */
export function createSnapshotTaker(
  engine: Engine, { folder, every = 200_000, report, save = saveSnapshot }: SnapshotTakerOptions,
): SnapshotTaker {
  let last = engine.state.position;
  let writing: Promise<void> | undefined;

  /** Does nothing when another process that shares the folder has written a snapshot as new as `newerThan`. */
  async function write(directory: string, newerThan: number): Promise<void> {
    try {
      if (await newestSnapshot(directory) >= newerThan) return;
      await save(directory, engine.state.position, encodeSnapshot(engine));
    } catch (error) {
      report('a snapshot could not be written; the next start replays more commands', { position: engine.state.position, error });
    }
  }

  function take(newerThan: number): void {
    if (folder === undefined || writing !== undefined) return;
    last = engine.state.position;
    writing = write(folder, newerThan).finally(() => { writing = undefined; });
  }

  return {
    afterStep() {
      if (engine.state.position - last >= every) take(last + 1);
    },
    async finish() {
      await writing;
      if (engine.state.position !== last) take(engine.state.position);
      await writing;
    },
  };
}
