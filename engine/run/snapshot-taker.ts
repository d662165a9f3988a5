/** When snapshots are taken, and by whom: beside the engine while it works, by the engine itself while nobody waits. */
import { formatDigest } from '../records/codec.js';
import { encodeSnapshot } from './snapshot.js';
import { newestSnapshot, saveSnapshot } from './snapshot-files.js';
import type { SnapshotWriter } from './snapshot-thread.js';
import type { Engine } from './stepping.js';

export interface SnapshotTaker {
  /** From this position on a snapshot is due; Infinity where none is taken. */
  readonly dueAt: number;
  /** Takes the snapshot that is due. While one is being written it does nothing, and this one stays due. */
  takeDue(): void;
  /** Ends the snapshot that is being written, then takes the last one. */
  finish(): Promise<void>;
}

export interface SnapshotTakerOptions {
  /** Undefined: no snapshots are taken. */
  readonly folder: string | undefined;
  /** Commands between two snapshots. */
  readonly every?: number | undefined;
  readonly report: (message: string, details: Record<string, unknown>) => void;
  /** Writes a snapshot of the engine's own state; tests give their own. */
  readonly save?: typeof saveSnapshot;
  /** Writes a snapshot beside the engine, which goes on. Undefined: the engine always stops for it. */
  readonly beside?: SnapshotWriter | undefined;
  /** Whether somebody waits for the engine's next step. Before, its own state is the quickest source of a snapshot. */
  readonly isLive?: () => boolean;
}

/** A snapshot that cannot be written is reported, and costs only time at the next start. */
export function createSnapshotTaker(
  engine: Engine,
  { folder, every = 200_000, report, save = saveSnapshot, beside, isLive = () => true }: SnapshotTakerOptions,
): SnapshotTaker {
  let last = engine.state.position;
  let writing: Promise<void> | undefined;
  const finishing = new AbortController();

  /** Does nothing when another process that shares the folder has written a snapshot as new as `newerThan`. */
  async function write(directory: string, newerThan: number): Promise<void> {
    // Where the engine is now: it goes on while the folder is read.
    const due = { folder: directory, position: engine.state.position, digest: formatDigest(engine.digest) };
    try {
      if (await newestSnapshot(directory) >= newerThan) return;
      if (beside === undefined || !isLive() || finishing.signal.aborted) await save(directory, engine.state.position, encodeSnapshot(engine));
      else await beside(due, finishing.signal);
    } catch (error) {
      if (error === finishing.signal.reason) return;
      report('a snapshot could not be written; the next start replays more commands', { position: due.position, error });
    }
  }

  function take(newerThan: number): void {
    if (folder === undefined || writing !== undefined) return;
    last = engine.state.position;
    taker.dueAt = last + every;
    writing = write(folder, newerThan).finally(() => { writing = undefined; });
  }

  const taker = {
    dueAt: folder === undefined ? Infinity : last + every,
    takeDue() { take(last + 1); },
    async finish() {
      const isBehind = writing !== undefined && beside !== undefined;
      finishing.abort(new Error('the engine takes its last snapshot itself'));
      await writing;
      if (isBehind || engine.state.position !== last) take(engine.state.position);
      await writing;
    },
  };
  return taker;
}
