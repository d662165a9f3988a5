/**
 * The end of one stream as this process knows it: its length, a window of the newest records, and the followers that wait for
 * more. When the window has the next record of a follower, the follower gets it from memory; otherwise it reads the store.
 */
import { createBell } from '../waiting.js';
import { createKnown, type HandleFailure, type KnownRecord, type LengthAnswer } from './known.js';
import { BrokenSequence, type LogRecord, type NewRecord, type Stream } from './log.js';

const WINDOW_RECORDS = 10_000;
const WINDOW_BYTES = 16 * 1024 * 1024;

/** The most records per batch of a follower. */
export const PAGE_RECORDS = 5_000;

/**
 * Returns a page of the store from a position on. Above position 0 the page begins with the record before, whose id must be `previous`, if that
 * is known: see readOverlapping.
 */
export type ReadPage = (from: number, previous: string | undefined) => Promise<readonly LogRecord[]>;

export interface Tail {
  /** The known length; other processes may have made the stream longer. */
  length(): number;
  /** The newest record that was written or read here. */
  newest(): KnownRecord | undefined;
  /** Keeps records that the store has from position `first` on, and wakes the followers. */
  push(first: number, records: readonly NewRecord[]): void;
  /** Sets the known length, if it is higher, and wakes the followers. */
  grown(length: number): void;
  /** As Known.answered; wakes the followers when the stream has grown. */
  answered(answer: LengthAnswer): number;
  /** Compares records that were read with what is known of the stream. Throws RecordsLost. */
  seen(first: number, records: readonly LogRecord[]): void;
  /** Makes every follower read the store, because a wake-up may have been lost. */
  check(): void;
  /** The batches of `Log.follow`. */
  follow(from: number, signal: AbortSignal, read: ReadPage): AsyncIterable<readonly LogRecord[]>;
}

export interface TailOptions {
  readonly stream: Stream;
  /** The first length that the store gave. */
  readonly length: number;
  /** A waiting follower reads the store this often, in case a wake-up was lost or the store has lost records. */
  readonly pollMs: number;
  readonly failure: HandleFailure;
}

export function createTail({ stream, length: initialLength, pollMs, failure }: TailOptions): Tail {
  const window = createWindow();
  const bell = createBell();
  const known = createKnown({ stream, length: initialLength, failure });
  let checks = 0;

  const seen = (first: number, records: readonly LogRecord[]): void => {
    const error = known.has(first, records);
    if (error !== undefined) throw error;
  };

  async function* follow(from: number, ended: AbortSignal, read: ReadPage): AsyncGenerator<readonly LogRecord[]> {
    const signal = AbortSignal.any([ended, failure.signal]);
    let next = from;
    let previous: string | undefined;
    let checked = -1;
    while (!signal.aborted) {
      const rungBefore = bell.rung();
      let batch = window.from(next);
      if (batch.length === 0 && (known.length() > next || checked !== checks)) {
        checked = checks;
        const page = await read(next, previous);
        const overlap = next > 0 ? 1 : 0;
        seen(next - overlap, page);
        if (overlap > 0) previous ??= page[0]?.id;
        batch = page.slice(overlap);
        if (batch.length === 0 && bell.rung() !== rungBefore) continue;
      }
      const [oldest] = batch;
      if (oldest === undefined) {
        if (await bell.wait(signal, pollMs) === 'timeout') checked = -1;
        continue;
      }
      if (oldest.position !== next) throw new BrokenSequence(stream, next, oldest.position);
      next += batch.length;
      previous = batch.at(-1)?.id;
      // The consumer may have left during the read.
      if (!signal.aborted) yield batch;
    }
    if (!ended.aborted) failure.signal.throwIfAborted();
  }

  return {
    length: known.length,
    newest: known.newest,
    push(first, records) {
      // Other records than those that were known: that has ended the handle.
      if (known.has(first, records) !== undefined) return;
      window.push(first, records);
      bell.ring();
    },
    grown(length) { if (known.grown(length)) bell.ring(); },
    answered(answer) {
      const before = known.length();
      const length = known.answered(answer);
      if (length > before) bell.ring();
      return length;
    },
    seen,
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
