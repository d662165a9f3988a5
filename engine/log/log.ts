/**
 * The log's port: what the exchange needs from an event store, with the guarantees that every adapter gives, and its
 * errors.
 */

/** Two streams in lockstep: outcome n answers command n. */
export type Stream = 'commands' | 'outcomes';

export interface NewRecord {
  /**
   * A UUID in lower case, made from the record's natural key (an order's submission, a chain event's place). A retry
   * has the same id.
   */
  readonly id: string;
  /** At most MAX_RECORD_BYTES. The log may hand this array to followers: it must not change after the append. */
  readonly data: Uint8Array;
}

export interface LogRecord extends NewRecord {
  /** Contiguous from 0 in its stream. */
  readonly position: number;
}

/**
 * The most bytes of one append, all records together. EventStoreDB takes 1 MiB per append by default, and counts some
 * bytes more per record.
 */
export const MAX_APPEND_BYTES = 1_000_000;

/** The most records per append. */
export const MAX_APPEND_RECORDS = 1_000;

/** The most bytes per record: one record may fill a whole append. */
export const MAX_RECORD_BYTES = MAX_APPEND_BYTES;

/** How many of the newest batches with an unknown result a handle remembers. */
export const REMEMBERED_BATCHES = 1_000;

/** What whoever opens a handle may choose. */
export interface LogOptions {
  /** An append without a known result ends with LogUnavailable after this time. Default 30 s. */
  readonly unknownAfterMs?: number;
  /** An attempt without an answer is given up after this time, and its connection replaced. Default 10 s. */
  readonly attemptTimeoutMs?: number;
  /** A waiting follower reads the store this often, in case a wake-up was lost. Default 1 s. */
  readonly pollMs?: number;
  /**
   * Called once, when the store has lost records: the handle is of no use any more, and whoever has relied on it must
   * stop.
   */
  readonly failed?: (error: Error) => void;
}

/**
 * A handle on the log. Several handles, of one process or of many, may write and read the same streams at the same
 * time.
 *
 * **Lost records.** A store may go back: a standby that lacks the last commits is promoted, an older copy is restored,
 * records are deleted. A handle knows the greatest length that the store has told it, and the newest record that it has
 * written or read. When the store has fewer records than that, or another record there, whichever call notices it
 * rejects with RecordsLost. From then on the handle refuses every call with that error, and all its followers end with
 * it: what its owner knows of the history is not in the history any more. A follower that waits notices the loss by
 * itself.
 */
export interface Log {
  /**
   * Appends all records or none, contiguous and in this order, durably. Resolves with the first record's position.
   *
   * **Where.** With `expected`, a length that the stream has had, the first record gets exactly that position. When the
   * stream does not end there, the append rejects with WrongPosition and nothing is written; but when exactly these
   * records are already there (the same ids in the same order), the append counts as done. Without `expected` the
   * records go to the end of the stream.
   *
   * **Once.** When the store's answer is lost, the handle repeats the attempt at the same position with the same ids,
   * until the store answers whether the records are there. The handle tries a later position only when no attempt, not
   * even one still on its way, can write the records at the first position. So an append that resolves has written its
   * records once.
   *
   * **Unknown.** A handle that does not learn the result in time rejects with LogUnavailable, `outcomeUnknown` true.
   * The caller may append the same batch again (all its ids in the same order), and it is written once: with the same
   * `expected` through any handle, without `expected` through the same handle, which remembers REMEMBERED_BATCHES such
   * batches and the position to try first. A batch with other records, or with the same records in another order, is
   * another batch.
   *
   * **The ids decide; the stored bytes are valid.** A batch that was already stored keeps its stored data; readers and
   * followers of all handles get the stored data. Appending an acknowledged batch again without `expected` may write it
   * a second time.
   *
   * Appends of one handle to one stream are made one after the other in the order of the calls.
   *
   * Throws InvalidAppend or RecordTooLarge (nothing was written, and trying again cannot help), WrongPosition,
   * LogUnavailable, RecordsLost (nothing was written), and BrokenSequence when the store tells a position that cannot
   * be that of the batch.
   */
  append(stream: Stream, records: readonly NewRecord[], expected?: number): Promise<number>;

  /**
   * Records from position `from` on, contiguous, at most `limit`. A page may end early, because of its bytes or the
   * adapter's own limit. **Only an empty page means the end of the stream**: when `from` is below the length, the page
   * has at least one record. A record can be read once any handle's append of it has resolved. Throws RangeError,
   * LogUnavailable, BrokenSequence, RecordsLost.
   */
  read(stream: Stream, from: number, limit: number): Promise<LogRecord[]>;

  /** The stream's length: the position of the next record. Never goes back. Throws LogUnavailable, RecordsLost. */
  length(stream: Stream): Promise<number>;

  /**
   * The stored records from position `from` on, present and future, of all handles: each once, in order, without a gap.
   * They come in batches that are never empty. After a lost connection the follower reconnects without an error. It
   * ends only when `signal` aborts or the handle is closed. Throws RangeError, BrokenSequence when the store has a gap,
   * RecordsLost.
   */
  follow(stream: Stream, from: number, signal: AbortSignal): AsyncIterable<readonly LogRecord[]>;

  /**
   * Refuses further appends, waits for the accepted ones, and ends the followers. Afterwards append, read and length
   * reject with LogUnavailable, `outcomeUnknown` false. A second call has no effect.
   */
  close(): Promise<void>;

  /**
   * Asks whether this handle can read the whole log, and append to the streams `writes`, without writing anything.
   * Absent in a store that is asked for its time instead. `timeoutMs`: the time limit of each question. Throws
   * UnusableLog, LogRefused, or an error that may pass.
   */
  readonly check?: (question: { readonly writes: readonly Stream[]; readonly timeoutMs: number }) => Promise<void>;
}

/** The caller passed something that is not a batch of records. Nothing was written; trying again cannot help. */
export class InvalidAppend extends Error {
  constructor(what: string) {
    super(`cannot append: ${what}`);
    this.name = 'InvalidAppend';
  }
}

/** One record has more than MAX_RECORD_BYTES. Nothing was written. */
export class RecordTooLarge extends Error {
  constructor(bytes: number) {
    super(`the record has ${bytes} bytes; the log takes at most ${MAX_RECORD_BYTES}: make it smaller or split it`);
    this.name = 'RecordTooLarge';
  }
}

/**
 * The expected position has other records, or is beyond the stream's end. Neither this attempt nor an earlier one wrote
 * the batch.
 */
export class WrongPosition extends Error {
  /** `actual`: the stream's length. */
  constructor(readonly stream: Stream, readonly expected: number, readonly actual: number) {
    super(`${stream} has ${actual} records, expected ${expected}: another writer has appended; read its records before you append`);
    this.name = 'WrongPosition';
  }
}

/**
 * The log could not be reached in time. With `outcomeUnknown` the records may have been written, or may still be
 * written; only the same batch may be sent again, see `Log.append`. Without it nothing was written, and nothing will
 * be.
 */
export class LogUnavailable extends Error {
  constructor(readonly outcomeUnknown: boolean, options?: ErrorOptions) {
    super(outcomeUnknown ? 'the log did not answer: whether the records were written is unknown' : 'the log cannot be reached', options);
    this.name = 'LogUnavailable';
  }
}

/**
 * The store lacks records that it had. Whoever has this error must stop: what it remembers is not the history any more.
 * It must not start again by itself either, since it would go on with the shorter history as if nothing had happened.
 */
export class RecordsLost extends Error {
  /**
   * `found` tells what the store has and what it had. `otherwise` tells what else can be done than to bring the records
   * back.
   */
  constructor(found: string, otherwise = '') {
    super(`the log has lost records: ${found}; stop every process of the exchange and bring back the newest copy of the log before any of them `
      + `starts again (docs/operations.md, "When the log has lost records")${otherwise}`);
    this.name = 'RecordsLost';
  }
}

/** A stream has a gap or goes backwards. Readers stop, because no record may be skipped. */
export class BrokenSequence extends Error {
  constructor(stream: Stream, expected: number, actual: number) {
    super(`${stream}: read position ${actual}, expected ${expected}`);
    this.name = 'BrokenSequence';
  }
}

/**
 * A broken sequence whose reason is known: the store hides or has lost records of a stream, or has others in it.
 * Waiting does not help. The message names the stream and says what to do.
 */
export class UnusableLog extends BrokenSequence {
  constructor(stream: Stream, message: string) {
    super(stream, 0, 0);
    this.name = 'UnusableLog';
    this.message = message;
  }
}

/**
 * The store refuses to read or to append until somebody gives a right or changes a limit; the message says which.
 * Nothing was written.
 */
export class LogRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LogRefused';
  }
}
