/**
 * The end of one stream as this process knows it: its length, a window of the newest records, and the followers that
 * wait for more. When the window has the next record of a follower, the follower gets it from memory; otherwise it
 * reads the store. What is known of a stream also tells when the store lacks records that it had.
 */
import { createBell, type Bell } from '../waiting.js';
import { BrokenSequence, LogUnavailable, RecordsLost, type LogRecord, type NewRecord, type Stream } from './log.js';

const WINDOW_RECORDS = 10_000;
const WINDOW_BYTES = 16 * 1024 * 1024;
/** Fewer records are not worth asking the followers for. */
const SMALL_WINDOW = 64;

/** The most records per batch of a follower. */
export const PAGE_RECORDS = 5_000;

/**
 * Returns a page of the store from a position on. Above position 0 the page begins with the record before, whose id
 * must be `previous`, if that is known: see readOverlapping.
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
  const followers = new Set<Follower>();
  const window = createWindow(followers);
  const bell = createBell();
  const known = createKnown({ stream, length: initialLength, failure });
  let checks = 0;

  const seen = (first: number, records: readonly LogRecord[]): void => {
    const error = known.has(first, records);
    if (error !== undefined) throw error;
  };

  async function* follow(from: number, ended: AbortSignal, read: ReadPage): AsyncGenerator<readonly LogRecord[]> {
    const follower = { next: from };
    followers.add(follower);
    try {
      yield* batches({
        follower, read, signal: AbortSignal.any([ended, failure.signal]), stream, window, bell, known, seen, pollMs, checks: () => checks,
      });
    } finally {
      followers.delete(follower);
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

interface Follower {
  /** The position of its next record. */
  next: number;
}

interface Following extends Pick<TailOptions, 'stream' | 'pollMs'>, Pick<Tail, 'seen'> {
  readonly follower: Follower;
  readonly read: ReadPage;
  readonly signal: AbortSignal;
  readonly window: ReturnType<typeof createWindow>;
  readonly bell: Bell;
  readonly known: Known;
  /** How often followers were told to read the store. */
  readonly checks: () => number;
}

async function* batches({
  follower, read, signal, stream, window, bell, known, seen, pollMs, checks,
}: Following): AsyncGenerator<readonly LogRecord[]> {
  let previous: string | undefined;
  let checked = -1;
  while (!signal.aborted) {
    const { next } = follower;
    const rungBefore = bell.rung();
    let batch = window.from(next);
    if (batch.length === 0 && (known.length() > next || checked !== checks())) {
      checked = checks();
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
    follower.next += batch.length;
    previous = batch.at(-1)?.id;
    // The consumer may have left during the read.
    if (!signal.aborted) yield batch;
  }
}

/**
 * The newest records, contiguous; bounded in number and bytes. What every follower has had leaves it soon, so that records die young: the
 * old ones were the most of what V8 had to collect of its old generation.
 */
function createWindow(followers: Iterable<Follower>) {
  let records: LogRecord[] = [];
  /** The position of the first record, or of the next one while the window is empty. */
  let start = 0;
  let bytes = 0;
  let lookAt = SMALL_WINDOW;

  function drop(count: number): void {
    for (const { data } of records.slice(0, count)) bytes -= data.length;
    records = records.slice(count);
    start += count;
  }

  /** As many as are left have to come before the next look, so that many followers cost each record little. */
  function dropRead(): void {
    let needed = start + records.length;
    for (const { next } of followers) needed = Math.min(needed, next);
    drop(Math.max(0, needed - start));
    lookAt = Math.max(SMALL_WINDOW, 2 * records.length);
  }

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
      if (records.length >= lookAt) dropRead();
      if (records.length <= WINDOW_RECORDS && bytes <= WINDOW_BYTES) return;
      // Drops to half, so that the array is not copied at every append.
      let [dropped, left] = [0, bytes];
      for (const { data } of records) {
        if (records.length - dropped <= WINDOW_RECORDS / 2 && left <= WINDOW_BYTES / 2) break;
        left -= data.length;
        dropped += 1;
      }
      drop(dropped);
    },
    /** The records from the position on; empty when the window does not have the position. */
    from(position: number): readonly LogRecord[] {
      const skipped = position - start;
      return skipped < 0 ? [] : records.slice(skipped, skipped + PAGE_RECORDS);
    },
  };
}

/** The end of a handle whose store has broken its promises. */
export interface HandleFailure {
  /** Aborts with the error. */
  readonly signal: AbortSignal;
  /** Ends the handle, and returns the first error that has done so. */
  found(error: RecordsLost | BrokenSequence): Error;
}

/** `failed` is called once. */
export function createHandleFailure(failed: (error: Error) => void = () => undefined): HandleFailure {
  const ending = new AbortController();
  return {
    signal: ending.signal,
    found(error) {
      if (!ending.signal.aborted) {
        ending.abort(error);
        failed(error);
      }
      return ending.signal.reason as Error;
    },
  };
}

export interface KnownRecord {
  readonly position: number;
  readonly id: string;
}

/** A store's answer to a question about a stream's length. */
export interface LengthAnswer {
  readonly length: number;
  /** What was known when the store was asked: what came in meanwhile may be newer than the answer. */
  readonly before: number;
  /** The store may lag behind the one that takes the appends: it may still get the records. */
  readonly isStandby?: boolean;
}

export interface Known {
  /** The greatest length that the store has given. */
  length(): number;
  /** The newest record that was written or read; undefined before the first one. */
  newest(): KnownRecord | undefined;
  /**
   * Takes a length that came without being asked for, and may be old. Returns whether it is greater than the known one.
   */
  grown(length: number): boolean;
  /**
   * Takes the answer to a question, and returns the length. Throws RecordsLost when it is below what was known;
   * LogUnavailable at a standby.
   */
  answered(answer: LengthAnswer): number;
  /** Takes records that were written or read. Returns the error when one of them is not the known one. */
  has(first: number, records: readonly NewRecord[]): Error | undefined;
}

export function createKnown({ stream, length: initialLength, failure }: {
  stream: Stream;
  length: number;
  failure: HandleFailure;
}): Known {
  let length = initialLength;
  let newest: KnownRecord | undefined;

  const grown = (given: number): boolean => {
    if (given <= length) return false;
    length = given;
    return true;
  };
  return {
    length: () => length,
    newest: () => newest,
    grown,
    answered({ length: answered, before, isStandby = false }) {
      if (answered < before && isStandby) {
        throw new LogUnavailable(false, { cause: new Error(`it is a standby that has ${answered} of ${before} ${stream}`) });
      }
      if (answered < before) throw failure.found(shorter(stream, { known: before, length: answered }));
      grown(answered);
      return answered;
    },
    has(first, records) {
      const last = records.at(-1);
      if (last === undefined) return undefined;
      if (newest !== undefined) {
        const same = records[newest.position - first];
        if (same !== undefined && same.id !== newest.id) return failure.found(replaced(stream, newest.position));
      }
      const position = first + records.length - 1;
      if (newest === undefined || position > newest.position) newest = { position, id: last.id };
      grown(position + 1);
      return undefined;
    },
  };
}

export interface PageQuestion {
  readonly stream: Stream;
  /** The position of the first record that is wanted; above 0. */
  readonly from: number;
  /** The id that the record before it had; undefined when it is not known. */
  readonly previous: string | undefined;
  readonly failure: HandleFailure;
  /** Reads a page of the store, whose first record serves for the comparison only. */
  readonly read: (from: number) => Promise<readonly LogRecord[]>;
  /** The stream's length. Throws RecordsLost when it is below what was known. */
  readonly length: () => Promise<number>;
}

/**
 * Reads a page together with the record before it, and compares that one with what it was. So a follower never goes on
 * behind records that were replaced, also when there are more of them by now. The first record of the page is the one
 * before `from`; the page is empty when that one is not there and was not known.
 */
export async function readOverlapping({
  stream, from, previous, failure, read, length,
}: PageQuestion): Promise<readonly LogRecord[]> {
  const page = await read(from - 1);
  const [before] = page;
  if (before?.id === previous || previous === undefined) return page;
  if (before !== undefined) throw failure.found(replaced(stream, from - 1));
  throw new BrokenSequence(stream, from - 1, await length());
}

/** The store has fewer records than it had. */
export function shorter(
  stream: Stream, { known, length }: { readonly known: number; readonly length: number },
): RecordsLost {
  return new RecordsLost(`its store has ${length} ${stream} and had ${known}, so ${rangeOf(length, known)}`);
}

/** The store has fewer commands than outcomes. */
export function fewerCommands({ commands, outcomes }: Readonly<Record<Stream, number>>): RecordsLost {
  const gone = rangeOf(commands, outcomes);
  return new RecordsLost(`its store has ${commands} commands and ${outcomes} outcomes, so of the commands ${gone}`);
}

/** Another record is at a position than was there. */
export function replaced(stream: Stream, position: number): RecordsLost {
  return new RecordsLost(`its store has another record at position ${position} of the ${stream} than it had`);
}

/** The positions from `first` to before `end`, as the beginning of a sentence. */
export function rangeOf(first: number, end: number): string {
  return first === end - 1 ? `position ${first} is gone` : `positions ${first} to ${end - 1} are gone`;
}
