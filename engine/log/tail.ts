/**
 * The end of one stream as this process knows it: its length, a window of the newest records, and the followers that wait for
 * more. A follower at the end gets what this process appended from memory; contiguity decides, otherwise it reads.
 */
import { createBell } from '../waiting.js';
import { BrokenSequence, type LogRecord, type NewRecord, type Stream } from './log.js';

const WINDOW_RECORDS = 10_000;
const WINDOW_BYTES = 16 * 1024 * 1024;

/** The most records that a follower gets at once. */
export const PAGE_RECORDS = 5_000;

/** Returns a page of the store from a position on. */
export type ReadPage = (from: number) => Promise<readonly LogRecord[]>;

export interface Tail {
  /** The length that is known so far; the stream may be longer by other processes' records. */
  length(): number;
  /** Records as they were written, from position `first` on: kept for followers, who are woken. */
  push(first: number, records: readonly NewRecord[]): void;
  /** The stream is known to have this length. */
  grown(length: number): void;
  /** Something may have been missed: followers look for themselves. */
  check(): void;
  /** The batches of `Log.follow`. */
  follow(from: number, signal: AbortSignal, read: ReadPage): AsyncIterable<readonly LogRecord[]>;
}

/** `pollMs`: how often a waiting follower looks for itself, should a wake-up be lost. */
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
      if (batch.length === 0) {
        if (await bell.wait(signal, pollMs) === 'timeout') checked = -1;
        continue;
      }
      if (batch[0]!.position !== next) throw new BrokenSequence(stream, next, batch[0]!.position);
      next += batch.length;
      knownLength = Math.max(knownLength, next);
      // The consumer may have gone while the read was under way.
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
  let bytes = 0;

  return {
    push(first: number, added: readonly NewRecord[]): void {
      const end = records.length === 0 ? first : records[0]!.position + records.length;
      if (first !== end) {
        records = [];
        bytes = 0;
      }
      added.forEach(({ id, data }, i) => {
        records.push({ position: first + i, id, data });
        bytes += data.length;
      });
      if (records.length <= WINDOW_RECORDS && bytes <= WINDOW_BYTES) return;
      // Down to half, so that the array is not moved at every append.
      let dropped = 0;
      while (records.length - dropped > WINDOW_RECORDS / 2 || bytes > WINDOW_BYTES / 2) {
        bytes -= records[dropped]!.data.length;
        dropped += 1;
      }
      records = records.slice(dropped);
    },
    /** What follows from the position on; empty when the window does not hold it. */
    from(position: number): readonly LogRecord[] {
      if (records.length === 0 || position < records[0]!.position) return [];
      const start = position - records[0]!.position;
      return records.slice(start, start + PAGE_RECORDS);
    },
  };
}
