/**
 * The end of one stream as this process knows it: its length, a window of the newest records, and the followers that wait for
 * more. When the window has the next record of a follower, the follower gets it from memory; otherwise it reads the store.
 */
import { createBell } from '../waiting.js';
import { BrokenSequence, type LogRecord, type NewRecord, type Stream } from './log.js';

const WINDOW_RECORDS = 10_000;
const WINDOW_BYTES = 16 * 1024 * 1024;

/** The most records per batch of a follower. */
export const PAGE_RECORDS = 5_000;

/** Returns a page of the store from a position on. */
export type ReadPage = (from: number) => Promise<readonly LogRecord[]>;

export interface Tail {
  /** The known length; other processes may have made the stream longer. */
  length(): number;
  /** Keeps records that the store has from position `first` on, and wakes the followers. */
  push(first: number, records: readonly NewRecord[]): void;
  /** Sets the known length, if it is higher, and wakes the followers. */
  grown(length: number): void;
  /** Makes every follower read the store, because a wake-up may have been lost. */
  check(): void;
  /** The batches of `Log.follow`. */
  follow(from: number, signal: AbortSignal, read: ReadPage): AsyncIterable<readonly LogRecord[]>;
}

/** `pollMs`: a waiting follower reads the store this often, in case a wake-up was lost. */
export function createTail({ stream, length: initialLength, pollMs }: { stream: Stream; length: number; pollMs: number }): Tail {
  const window = createWindow();
  const bell = createBell();
  let knownLength = initialLength;
  let checks = 0;

  async function* follow(from: number, signal: AbortSignal, read: ReadPage): AsyncGenerator<readonly LogRecord[]> {
    let next = from;
    let checked = -1;
    while (!signal.aborted) {
      const rungBefore = bell.rung();
      let batch = window.from(next);
      if (batch.length === 0 && (knownLength > next || checked !== checks)) {
        checked = checks;
        batch = await read(next);
        if (batch.length === 0 && bell.rung() !== rungBefore) continue;
      }
      const [oldest] = batch;
      if (oldest === undefined) {
        if (await bell.wait(signal, pollMs) === 'timeout') checked = -1;
        continue;
      }
      if (oldest.position !== next) throw new BrokenSequence(stream, next, oldest.position);
      next += batch.length;
      knownLength = Math.max(knownLength, next);
      // The consumer may have left during the read.
      if (!signal.aborted) yield batch;
    }
  }

  return {
    length: () => knownLength,
    push(first, records) {
      window.push(first, records);
      knownLength = Math.max(knownLength, first + records.length);
      bell.ring();
    },
    grown(length) {
      if (length <= knownLength) return;
      knownLength = length;
      bell.ring();
    },
    check() {
      checks += 1;
      bell.ring();
    },
    follow,
  };
}

/** The newest records, contiguous; bounded in number and bytes. */
function createWindow() {
  let records: LogRecord[] = [];
  /** The position of the first record, or of the next one while the window is empty. */
  let start = 0;
  let bytes = 0;

  return {
    /** What the window has already is passed over. After a gap it begins anew. */
    push(first: number, added: readonly NewRecord[]): void {
      const end = start + records.length;
      if (records.length === 0 || first > end) {
        records = [];
        start = first;
        bytes = 0;
      }
      added.slice(Math.max(0, start + records.length - first)).forEach(({ id, data }) => {
        records.push({ position: start + records.length, id, data });
        bytes += data.length;
      });
      if (records.length <= WINDOW_RECORDS && bytes <= WINDOW_BYTES) return;
      // Drops to half, so that the array is not copied at every append.
      let dropped = 0;
      for (const { data } of records) {
        if (records.length - dropped <= WINDOW_RECORDS / 2 && bytes <= WINDOW_BYTES / 2) break;
        bytes -= data.length;
        dropped += 1;
      }
      records = records.slice(dropped);
      start += dropped;
    },
    /** The records from the position on; empty when the window does not have the position. */
    from(position: number): readonly LogRecord[] {
      const skipped = position - start;
      return skipped < 0 ? [] : records.slice(skipped, skipped + PAGE_RECORDS);
    },
  };
}
