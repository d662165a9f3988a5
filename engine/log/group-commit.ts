/**
 * Gathers the appends of many callers in one process into batches. While one batch is being appended, arriving records
 * form the next one.
 *
 * An entry is either queued or sent. A queued entry can be refused or withdrawn, because it has not left this process.
 * A sent entry ends as its batch does; when the result of the batch is unknown, each of its callers gets
 * `outcomeUnknown`. So an acknowledged record is never lost, and a refused record is never written.
 */
import { BriefMap } from '../waiting.js';
import { LogUnavailable, type Log, type NewRecord, type Stream } from './log.js';
import { checkRecord, LARGEST_APPEND, type AppendSize } from './appender.js';

/** The queue is full. Nothing was written; the caller may try again later. */
export class QueueFull extends Error {
  constructor(readonly maxQueued: number) {
    super(`${maxQueued} records already wait for the log; try again later`);
    this.name = 'QueueFull';
  }
}

export interface GroupCommit {
  /**
   * Resolves with the record's position once the record is durable. When `signal` aborts while the record is queued,
   * the record is withdrawn and the promise rejects with the signal's reason; after the record was sent, the signal has
   * no effect. Throws QueueFull, InvalidAppend or RecordTooLarge at once. Throws LogUnavailable; with `outcomeUnknown`
   * false nothing was written.
   */
  append(record: NewRecord, signal?: AbortSignal): Promise<number>;
  /**
   * The same for several records, in one append, at positions that follow each other; resolves with the first one's.
   */
  appendAll(records: readonly NewRecord[], signal?: AbortSignal): Promise<number>;
  /** The number of queued records, without those that were sent. */
  queued(): number;
  /** Refuses further records, and resolves when the accepted ones have ended. */
  drain(): Promise<void>;
}

export interface GroupCommitOptions {
  readonly log: Log;
  readonly stream: Stream;
  /** The most queued records; more are refused with QueueFull. */
  readonly maxQueued: number;
  /** The most records per append. Default: as many as the log takes. */
  readonly maxBatch?: number;
  /** The most bytes per append; a larger record is appended alone. Default: as many as the log takes. */
  readonly maxBatchBytes?: number;
  /** A record that is still queued after this time is refused. Default 10 s. */
  readonly refuseAfterMs?: number;
  /** Called with the number of records of each durable batch. */
  readonly committed?: (records: number) => void;
}

interface Entry {
  readonly arrival: number;
  readonly records: readonly NewRecord[];
  readonly refuseAtMs: number;
  settle(outcome: { position: number } | { error: unknown }): void;
}

export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { log, stream, maxQueued, refuseAfterMs = 10_000, committed } = options;
  const size: AppendSize = {
    maxRecords: options.maxBatch ?? LARGEST_APPEND.maxRecords,
    maxBytes: options.maxBatchBytes ?? LARGEST_APPEND.maxBytes,
  };
  const queue = createQueue(refuseAfterMs);
  let draining = false;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    // Records that arrive in the same turn of the event loop go into the same batch.
    await new Promise(setImmediate);
    while (queue.size() > 0) {
      const batch = queue.take(size);
      try {
        const records = batch.flatMap((entry) => entry.records);
        let position = await log.append(stream, records);
        for (const entry of batch) {
          entry.settle({ position });
          position += entry.records.length;
        }
        committed?.(records.length);
      } catch (error) {
        for (const entry of batch) entry.settle({ error });
      }
    }
    running = undefined;
  }

  async function appendAll(records: readonly NewRecord[], signal?: AbortSignal): Promise<number> {
    if (draining) throw new LogUnavailable(false);
    signal?.throwIfAborted();
    for (const record of records) checkRecord(record);
    if (queue.size() + records.length > maxQueued) throw new QueueFull(maxQueued);
    const position = queue.add(records, signal);
    running ??= run();
    return await position;
  }

  return {
    append: (record, signal) => appendAll([record], signal),
    appendAll,
    queued: queue.size,
    async drain() {
      draining = true;
      await running;
    },
  };
}

/**
 * Entries in order of arrival. All entries may wait equally long, so the first entry is also the first to be refused.
 */
function createQueue(refuseAfterMs: number) {
  const entries = new BriefMap<number, Entry>();
  let arrivals = 0;
  let queued = 0;
  let refusal: NodeJS.Timeout | undefined;

  function refuseLate(): void {
    refusal = undefined;
    const nowMs = performance.now();
    for (const entry of entries.values()) {
      if (entry.refuseAtMs > nowMs) {
        refusal = setTimeout(refuseLate, entry.refuseAtMs - nowMs).unref();
        return;
      }
      leave(entry);
      entry.settle({ error: new LogUnavailable(false, { cause: new Error(`the record waited ${refuseAfterMs} ms for the log`) }) });
    }
  }

  function leave(entry: Entry): boolean {
    if (entries.take(entry.arrival) === undefined) return false;
    queued -= entry.records.length;
    return true;
  }

  return {
    /** The number of records. */
    size: () => queued,
    add(records: readonly NewRecord[], signal: AbortSignal | undefined): Promise<number> {
      refusal ??= setTimeout(refuseLate, refuseAfterMs).unref();
      return new Promise<number>((resolve, reject) => {
        const withdraw = (): void => { if (leave(entry)) entry.settle({ error: signal?.reason }); };
        const entry: Entry = {
          arrival: ++arrivals,
          records,
          refuseAtMs: performance.now() + refuseAfterMs,
          settle(outcome) {
            signal?.removeEventListener('abort', withdraw);
            if ('error' in outcome) reject(outcome.error as Error);
            else resolve(outcome.position);
          },
        };
        signal?.addEventListener('abort', withdraw);
        entries.set(entry.arrival, entry);
        queued += records.length;
      });
    },
    /** Removes from the front the entries that fit into one append. The first one is taken whatever its size. */
    take({ maxRecords, maxBytes }: AppendSize): Entry[] {
      const batch: Entry[] = [];
      let count = 0;
      let bytes = 0;
      for (const entry of entries.values()) {
        count += entry.records.length;
        for (const { data } of entry.records) bytes += data.length;
        if (batch.length > 0 && (count > maxRecords || bytes > maxBytes)) break;
        batch.push(entry);
        leave(entry);
      }
      return batch;
    },
  };
}
