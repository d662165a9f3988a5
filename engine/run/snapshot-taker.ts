/** Takes a replica's snapshots: every so many commands, one write at a time, and a last one at a graceful stop. */
import type { Engine } from './engine.js';
import { encodeSnapshot } from './snapshot.js';
import { newestSnapshot, saveSnapshot } from './snapshot-files.js';

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
