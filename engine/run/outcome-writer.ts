/** Appends outcomes in order, each at its own position: the append that fences out a second engine, whose loser stands by. */
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeOutcome } from '../records/codec.js';
import { HistoryDiffers } from './history-differs.js';
import { LogUnavailable, WrongPosition, type Log, type NewRecord } from '../log/log.js';

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
  /** How long the outcomes must stand still before a standby engine takes over. */
  readonly takeoverMs: number;
  readonly signal: AbortSignal;
  readonly report: (message: string, details: Record<string, unknown>) => void;
  /** Told once of an error after which nothing more can be written; the writer's other functions throw it too. */
  readonly failed?: (error: Error) => void;
}

/** Records an append takes at most. */
const MAX_BATCH = 1_000;
/** Nobody waits for an outcome's append, so under load appends keep this distance, and gather more each. */
const GATHER_MS = 20;
/** How often a standby engine looks whether the other one still writes, and an engine without a log whether it is back. */
const POLL_MS = 250;

interface Writing {
  readonly options: OutcomeWriterOptions;
  queue: OutcomeRecord[];
  written: number;
  standby: boolean;
}

export function createOutcomeWriter(options: OutcomeWriterOptions): OutcomeWriter {
  const writing: Writing = { options, queue: [], written: options.from, standby: false };
  let failure: Error | undefined;
  let working: Promise<void> | undefined;

  const start = (): void => {
    working = writeQueue(writing).catch((error: unknown) => {
      failure = error as Error;
      options.failed?.(failure);
    }).finally(() => {
      working = undefined;
      if (writing.queue.length > 0 && failure === undefined) start();
    });
  };
  return {
    add(record) {
      writing.queue.push(record);
      if (working === undefined && failure === undefined) start();
    },
    async drained() {
      while (working !== undefined) await working;
      this.throwIfFailed();
    },
    throwIfFailed() {
      if (failure !== undefined) throw failure;
    },
    get unwritten() { return writing.queue.length; },
    get written() { return writing.written; },
    get standby() { return writing.standby; },
  };
}

async function writeQueue(writing: Writing): Promise<void> {
  const { log, signal, report } = writing.options;
  while (writing.queue.length > 0) {
    const batch = writing.queue.slice(0, MAX_BATCH);
    try {
      await log.append('outcomes', batch, writing.written);
      writing.queue = writing.queue.slice(batch.length);
      writing.written += batch.length;
      if (writing.queue.length > 0 && writing.queue.length < MAX_BATCH) await sleep(GATHER_MS);
    } catch (error) {
      if (error instanceof LogUnavailable) {
        report('the log is unavailable: outcomes wait', { position: writing.written, waiting: writing.queue.length });
        await sleep(POLL_MS, undefined, { signal });
      } else if (error instanceof WrongPosition && error.actual > writing.written) {
        await standBy(writing);
      } else {
        throw error;
      }
    }
  }
}

/** Lets the other engine write until it falls silent. */
async function standBy(writing: Writing): Promise<void> {
  const { log, signal, report, takeoverMs } = writing.options;
  writing.standby = true;
  report('another engine writes the outcomes: standing by', { position: writing.written });
  let length = await log.length('outcomes');
  for (let silentMs = 0; silentMs < takeoverMs; silentMs += POLL_MS) {
    await skipTo(writing, length);
    await sleep(POLL_MS, undefined, { signal });
    const now = await log.length('outcomes');
    if (now !== length || writing.queue.length === 0) silentMs = 0;
    length = now;
  }
  await skipTo(writing, length);
  writing.standby = false;
  report('the other engine is silent: taking over', { position: writing.written });
}

/** Drops what the other engine has written, after making sure that it computed the same. Throws when it did not. */
async function skipTo(writing: Writing, length: number): Promise<void> {
  const skipped = Math.min(length - writing.written, writing.queue.length);
  const last = writing.queue[skipped - 1];
  if (last === undefined) return;
  const [record] = await writing.options.log.read('outcomes', last.position, 1);
  const { digest } = decodeOutcome(record!.data);
  if (digest !== last.digest) {
    throw new HistoryDiffers({ position: last.position, recorded: digest, computed: last.digest });
  }
  writing.queue = writing.queue.slice(skipped);
  writing.written += skipped;
}
