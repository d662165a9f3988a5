/** The projections in a thread of their own: started here, so that folding never delays an order. */
import { Worker } from 'node:worker_threads';
import { STOP, type ProjectionMessage, type ProjectionThreadData } from './messages.js';

export interface ProjectionThread {
  /** The next outcome that each projection wants, by name; empty until the checkpoints have been read. */
  readonly positions: ReadonlyMap<string, number>;
  /** Resolves when the read models exist, empty or not. */
  readonly started: Promise<void>;
  /** Settles when the thread has ended: rejected if it was not told to. */
  readonly ended: Promise<void>;
  /** Resolves when the thread has gone; also when it has failed before. */
  stop(): Promise<void>;
}

export function startProjectionThread(data: ProjectionThreadData, onTrouble: (message: string) => void): ProjectionThread {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: data });
  let positions: ReadonlyMap<string, number> = new Map();
  let stopping = false;
  const started = new Promise<void>((resolve) => {
    worker.on('message', (message: ProjectionMessage) => {
      if (message.kind === 'trouble') return onTrouble(message.message);
      positions = message.positions;
      resolve();
    });
  });
  const ended = new Promise<void>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', (code) => {
      if (stopping && code === 0) resolve();
      else reject(new Error(`the projections' thread ended with code ${code}`));
    });
  });
  ended.catch(() => undefined);
  const exited = new Promise<void>((resolve) => { worker.once('exit', () => { resolve(); }); });
  return {
    get positions() { return positions; },
    started,
    ended,
    async stop() {
      stopping = true;
      worker.postMessage(STOP);
      await exited;
    },
  };
}
