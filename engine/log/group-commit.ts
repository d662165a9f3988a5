/**
 * Gathers the appends of many callers in one process into batches: one is on its way, whatever arrives meanwhile is the next one.
 *
 * An entry is either queued or sent. A queued one can still be refused or withdrawn for certain, since it leaves the queue; a
 * sent one ends as its batch does, and when the log cannot tell how, each of its callers hears just that. So nothing acknowledged
 * is ever lost, and nothing refused is ever written.
 */
import { LogUnavailable, type Log, type NewRecord, type Stream } from './log.js';
import { checkRecord } from './append-check.js';
import { fittingRecords, LARGEST_APPEND, type AppendSize } from './append-size.js';

/** The queue is full: nothing was written, the caller is to try again later. */
export class QueueFull extends Error {
  constructor(readonly maxQueued: number) {
    super(`${maxQueued} records already wait for the log; try again later`);
    this.name = 'QueueFull';
  }
}

export interface GroupCommit {
  /**
   * Resolves with the record's position once it is durable. `signal` withdraws the record while it is queued (its caller has
   * gone): then it rejects with the signal's reason; once it is sent the signal changes nothing.
   * Throws QueueFull, InvalidAppend or RecordTooLarge at once, and LogUnavailable: with `outcomeUnknown` false nothing was
   * written.
   */
  append(record: NewRecord, signal?: AbortSignal): Promise<number>;
  /** Records that wait, without those on their way. */
  queued(): number;
  /** Takes no more records, and waits for those that it has. */
  drain(): Promise<void>;
}

export interface GroupCommitOptions {
  readonly log: Log;
  readonly stream: Stream;
  /** More are refused with QueueFull. */
  readonly maxQueued: number;
  /** Records of one append. Default: as many as the log takes. */
  readonly maxBatch?: number;
  /** Bytes of one append; a single larger record goes alone. Default: as many as the log takes. */
  readonly maxBatchBytes?: number;
  /** A record that is still queued after this time is refused. Default 10 s. */
  readonly refuseAfterMs?: number;
  /** Told of each batch that is durable. */
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
    // What arrives in the same turn of the event loop goes into the same batch.
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

/** Entries in order of arrival. All may wait equally long, so that the front is also the next to be refused. */
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
        const withdraw = (): void => { if (entries.delete(entry)) entry.settle({ error: signal!.reason }); };
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
    /** Removes from the front what goes into one append. */
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
