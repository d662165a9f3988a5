/** Writes snapshots in a thread of their own, one thread per snapshot: its memory is freed as soon as it is written. */
import { Worker } from 'node:worker_threads';
import type { DueSnapshot } from './next-snapshot.js';
import { removeUnfinished } from './snapshot-files.js';

/** What the thread gets. */
export interface SnapshotThreadData extends DueSnapshot {
  readonly logUrl: string;
}

/** Writes a snapshot beside the engine. Rejects when it could not, and once the signal aborts. */
export type SnapshotWriter = (due: DueSnapshot, signal: AbortSignal) => Promise<void>;

/** A writer whose threads read the log at this URL themselves. A thread that is stopped leaves no file. */
export function snapshotThreads(logUrl: string): SnapshotWriter {
  return async (due, signal) => {
    signal.throwIfAborted();
    const worker = new Worker(new URL('./snapshot-worker.js', import.meta.url), {
      workerData: { ...due, logUrl } satisfies SnapshotThreadData,
    });
    const stop = (): void => { void worker.terminate(); };
    signal.addEventListener('abort', stop, { once: true });
    try {
      await ended(worker);
      // A thread that is stopped before it has begun ends as if its work were done.
      signal.throwIfAborted();
    } catch (error) {
      await removeUnfinished(due.folder);
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  };
}

/** Resolves when the thread has ended with its work done. */
function ended(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: unknown;
    worker.once('error', (error) => { failure = error; });
    worker.once('exit', (code) => {
      if (failure === undefined && code === 0) resolve();
      else reject(failure instanceof Error ? failure : new Error(`the snapshot's thread ended with code ${code}`));
    });
  });
}
