/**
 * Gathers the appends of many callers in one process into batches. While one batch is being appended, arriving records form the next one.
 *
 * An entry is either queued or sent. A queued entry can be refused or withdrawn, because it has not left this process. A sent entry ends as
 * its batch does; when the result of the batch is unknown, each of its callers gets `outcomeUnknown`. So an acknowledged record is never
 * lost, and a refused record is never written.
 */
import { LogUnavailable, type Log, type NewRecord, type Stream } from './log.js';
import { checkRecord, fittingRecords, LARGEST_APPEND, type AppendSize } from './append-check.js';

/** The queue is full. Nothing was written; the caller may try again later. */
export class QueueFull extends Error {
  constructor(readonly maxQueued: number) {
    super(`${maxQueued} records already wait for the log; try again later`);
    this.name = 'QueueFull';
  }
}

export interface GroupCommit {
  /**
   * Resolves with the record's position once the record is durable. When `signal` aborts while the record is queued, the record is
   * withdrawn and the promise rejects with the signal's reason; after the record was sent, the signal has no effect.
   * Throws QueueFull, InvalidAppend or RecordTooLarge at once. Throws LogUnavailable; with `outcomeUnknown` false nothing was written.
   */
  append(record: NewRecord, signal?: AbortSignal): Promise<number>;
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
  readonly record: NewRecord;
  readonly refuseAtMs: number;
  settle(outcome: { position: number } | { error: unknown }): void;
}

export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { log, stream, maxQueued, refuseAfterMs = 10_000, committed } = options;
  const size: AppendSize = {
    maxRecords: options.maxBatch ?? LARGEST_APPEND.maxRecords, maxBytes: options.maxBatchBytes ?? LARGEST_APPEND.maxBytes,
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
        const first = await log.append(stream, batch.map((entry) => entry.record));
        batch.forEach((entry, i) => { entry.settle({ position: first + i }); });
        committed?.(batch.length);
      } catch (error) {
        for (const entry of batch) entry.settle({ error });
      }
    }
    running = undefined;
  }

  return {
    async append(record, signal) {
      if (draining) throw new LogUnavailable(false);
      signal?.throwIfAborted();
      checkRecord(record);
      if (queue.size() >= maxQueued) throw new QueueFull(maxQueued);
      const position = queue.add(record, signal);
      running ??= run();
      return await position;
    },
    queued: queue.size,
    async drain() {
      draining = true;
      await running;
    },
  };
}

/** Entries in order of arrival. All entries may wait equally long, so the first entry is also the first to be refused. */
function createQueue(refuseAfterMs: number) {
  const entries = new Set<Entry>();
  let refusal: NodeJS.Timeout | undefined;

  function refuseLate(): void {
    refusal = undefined;
    const nowMs = performance.now();
    for (const entry of entries) {
      if (entry.refuseAtMs > nowMs) {
        refusal = setTimeout(refuseLate, entry.refuseAtMs - nowMs).unref();
        return;
      }
      entries.delete(entry);
      entry.settle({ error: new LogUnavailable(false, { cause: new Error(`the record waited ${refuseAfterMs} ms for the log`) }) });
    }
  }

  return {
    size: () => entries.size,
    add(record: NewRecord, signal: AbortSignal | undefined): Promise<number> {
      refusal ??= setTimeout(refuseLate, refuseAfterMs).unref();
      return new Promise<number>((resolve, reject) => {
        const withdraw = (): void => { if (entries.delete(entry)) entry.settle({ error: signal?.reason }); };
        const entry: Entry = {
          record,
          refuseAtMs: performance.now() + refuseAfterMs,
          settle(outcome) {
            signal?.removeEventListener('abort', withdraw);
            if ('error' in outcome) reject(outcome.error as Error);
            else resolve(outcome.position);
          },
        };
        signal?.addEventListener('abort', withdraw);
        entries.add(entry);
      });
    },
    /** Removes from the front the entries that fit into one append. */
    take(size: AppendSize): Entry[] {
      const batch: Entry[] = [];
      const count = fittingRecords(recordsOf(entries), size);
      for (const entry of entries) {
        if (batch.length === count) break;
        batch.push(entry);
        entries.delete(entry);
      }
      return batch;
    },
  };
}

function* recordsOf(entries: Iterable<Entry>): Generator<NewRecord> {
  for (const { record } of entries) yield record;
}
