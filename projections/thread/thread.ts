/** Starts the projections in a separate thread, so that they never delay an order. */
import { Worker } from 'node:worker_threads';
import type { Report } from '../../engine/report.js';
import { STOP, type KeptHistory, type ProjectionMessage, type ProjectionThreadData } from './messages.js';

export interface ProjectionThread {
  /** The position of the next outcome to fold; undefined until the checkpoint has been read. */
  readonly position: number | undefined;
  /** Undefined before the first round of the removal, and where nothing is removed. */
  readonly history: KeptHistory | undefined;
  /** Resolves when the tables of the read models exist. */
  readonly started: Promise<void>;
  /** Resolves when the thread has ended after `stop`; rejects when it ended by itself or with an error. */
  readonly ended: Promise<void>;
  /** Stops the thread. Resolves when it has ended, also when it had failed before. */
  stop(): Promise<void>;
}

export function startProjectionThread(data: ProjectionThreadData, report: Report): ProjectionThread {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: data });
  let position: number | undefined;
  let history: KeptHistory | undefined;
  let stopping = false;
  const started = new Promise<void>((resolve) => {
    worker.on('message', (message: ProjectionMessage) => {
      if (message.kind === 'report') return report(...message.report);
      if (message.kind === 'history') {
        history = { from: message.from, removedRows: message.removedRows };
        return;
      }
      position = message.position;
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
    get position() { return position; },
    get history() { return history; },
    started,
    ended,
    async stop() {
      stopping = true;
      worker.postMessage(STOP);
      await exited;
    },
  };
}
