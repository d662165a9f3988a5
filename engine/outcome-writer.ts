/** Appends outcomes in order, each at its own position: the append that fences out a second engine, whose loser stands by. */
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeOutcome } from './codec.js';
import { LogUnavailable, WrongPosition, type Log, type NewRecord } from './log.js';

export interface OutcomeRecord extends NewRecord {
  readonly position: number;
  readonly digest: string;
}

export interface OutcomeWriter {
  /** Queues the next outcome; it is appended with whatever else is waiting when the append before it is done. */
  add(record: OutcomeRecord): void;
  /** Resolves when everything added so far is durable; rejects when it cannot be. */
  drained(): Promise<void>;
  throwIfFailed(): void;
  readonly unwritten: number;
  readonly written: number;
  readonly standby: boolean;
}

export interface OutcomeWriterOptions {
  readonly log: Log;
  /** The position of the first outcome that will be added. */
  readonly from: number;
  readonly takeoverMs: number;
  readonly signal: AbortSignal;
  readonly report: (message: string, details: Record<string, unknown>) => void;
}

/** Records an append takes at most. */
const MAX_BATCH = 1_000;
/** How often a standby engine looks whether the other one still writes. */
const POLL_MS = 250;

export function createOutcomeWriter(options: OutcomeWriterOptions): OutcomeWriter {
  const { log, report } = options;
  let queue: OutcomeRecord[] = [];
  let written = options.from;
  let standby = false;
  let failure: unknown;
  let working: Promise<void> | undefined;

  /** Drops what the other engine has written, after making sure that it computed the same. */
  const skipTo = async (length: number): Promise<void> => {
    const last = queue[length - written - 1];
    if (last !== undefined) {
      const [record] = await log.read('outcomes', last.position, 1);
      const { digest } = decodeOutcome(record!.data);
      if (digest !== last.digest) {
        throw new Error(`another engine wrote digest ${digest} at position ${last.position}, this one computed ${last.digest}: they differ`);
      }
    }
    queue = queue.slice(length - written);
    written = length;
  };

  const standBy = async (): Promise<void> => {
    standby = true;
    report('another engine writes the outcomes: standing by', { position: written });
    let length = await log.length('outcomes');
    for (let silentMs = 0; silentMs < options.takeoverMs; silentMs += POLL_MS) {
      await skipTo(Math.min(length, written + queue.length));
      await sleep(POLL_MS, undefined, { signal: options.signal });
      const now = await log.length('outcomes');
      if (now !== length || queue.length === 0) silentMs = 0;
      length = now;
    }
    await skipTo(Math.min(length, written + queue.length));
    standby = false;
    report('the other engine is silent: taking over', { position: written });
  };

  const work = async (): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.slice(0, MAX_BATCH);
      try {
        await log.append('outcomes', batch, written);
        queue = queue.slice(batch.length);
        written += batch.length;
      } catch (error) {
        if (error instanceof LogUnavailable) {
          report('the log is unavailable: outcomes wait', { position: written, waiting: queue.length });
          await sleep(POLL_MS, undefined, { signal: options.signal });
        } else if (error instanceof WrongPosition && error.actual > written) {
          await standBy();
        } else {
          throw error;
        }
      }
    }
  };

  const start = (): void => {
    working = work().catch((error: unknown) => { failure = error; }).finally(() => {
      working = undefined;
      if (queue.length > 0 && failure === undefined) start();
    });
  };

  return {
    add(record) {
      queue.push(record);
      if (working === undefined && failure === undefined) start();
    },
    async drained() {
      while (working !== undefined) await working;
      this.throwIfFailed();
    },
    throwIfFailed() {
      if (failure !== undefined) throw failure;
    },
    get unwritten() { return queue.length; },
    get written() { return written; },
    get standby() { return standby; },
  };
}
