/** The log's port: what the exchange asks of an event store, promised so that every adapter can keep it, and its errors. */

/** Two streams in lockstep: outcome n answers command n. */
export type Stream = 'commands' | 'outcomes';

export interface NewRecord {
  /** A UUID in lower case, of the record's natural key (an order's submission, a chain log position). Given once: a retry has the same. */
  readonly id: string;
  /** At most MAX_RECORD_BYTES. The log may hand these very bytes to followers: they must not change after the append. */
  readonly data: Uint8Array;
}

export interface LogRecord extends NewRecord {
  /** Contiguous from 0 in its stream. */
  readonly position: number;
}

/**
 * The most bytes of one append's records together. EventStoreDB takes 1 MiB by default, and counts some bytes more for each
 * record.
 */
export const MAX_APPEND_BYTES = 1_000_000;

/** The most records of one append. */
export const MAX_APPEND_RECORDS = 1_000;

/** The most bytes of one record, which may fill an append alone. */
export const MAX_RECORD_BYTES = MAX_APPEND_BYTES;

/** Batches of unknown outcome that a handle remembers, the newest. */
export const REMEMBERED_BATCHES = 1_000;

/** A handle on the log. Several handles, of one process or of many, may write and read the same streams at the same time. */
export interface Log {
  /**
   * Appends all records or none, side by side and in this order, durably. Resolves with the first one's position.
   *
   * **Where.** With `expected`, a length that the stream has had, the first record gets exactly that position. When the stream
   * does not end there, the append rejects with WrongPosition and nothing is written; but when just these records are there
   * already (the same ids in the same order), it counts as done. Without `expected` the records go to the end of the stream,
   * behind what others have written by then.
   *
   * **Once.** When the store's answer is lost, the handle repeats the attempt at the same position with the same ids, until the
   * store says whether the records are there. It goes on at a later position only when the records cannot come to be at the
   * first one any more, not even by an attempt that is still on its way. So what resolves is written once.
   *
   * **Unknown.** A handle that does not learn the outcome in time rejects with LogUnavailable, `outcomeUnknown` true. The caller
   * may append the same batch again (all its ids in the same order), and it is written once: with the same `expected` through any
   * handle, without `expected` through the same handle, which remembers REMEMBERED_BATCHES such batches and the position to try
   * first. A batch that is put together in another way is another batch.
   *
   * **The ids decide, the stored bytes count.** A batch that is found keeps the data that it was stored with; readers and
   * followers of all handles get those. Appending an acknowledged batch again without `expected` may write it a second time.
   *
   * Appends of one handle to one stream are made one after the other in the order of the calls.
   *
   * Throws InvalidAppend or RecordTooLarge (nothing was written, and a repetition cannot help), WrongPosition, LogUnavailable.
   */
  append(stream: Stream, records: readonly NewRecord[], expected?: number): Promise<number>;

  /**
   * Records from position `from` on, contiguous, at most `limit`. A page may end early, for its bytes or for the adapter's own
   * limit. **Only an empty page is the end of the stream**: a position that is there gives at least one record. What any handle's
   * append has been told is written can be read. Throws RangeError, LogUnavailable, BrokenSequence.
   */
  read(stream: Stream, from: number, limit: number): Promise<LogRecord[]>;

  /** The stream's length: the position that the next record will get. Throws LogUnavailable. */
  length(stream: Stream): Promise<number>;

  /**
   * The records from position `from` on, those that are there and those to come, of all handles: each once, in order, without a
   * gap, as they are stored. They come in batches, none empty. Lost connections are made anew without an error. Ends when
   * `signal` aborts or the handle is closed, and only then. Throws RangeError, and BrokenSequence when the store has a gap.
   */
  follow(stream: Stream, from: number, signal: AbortSignal): AsyncIterable<readonly LogRecord[]>;

  /**
   * Takes no more appends, waits for those under way, and ends the followers. Afterwards append, read and length reject with
   * LogUnavailable, `outcomeUnknown` false. A second call does nothing more.
   */
  close(): Promise<void>;
}

/** The caller handed over something that is not a batch of records. Nothing was written; sending it again cannot help. */
export class InvalidAppend extends Error {
  constructor(what: string) {
    super(`this cannot be appended: ${what}`);
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

/** The stream does not end at the expected position, and other records are there. Nothing was written, and no earlier attempt was. */
export class WrongPosition extends Error {
  /** `actual`: the stream's length. */
  constructor(readonly stream: Stream, readonly expected: number, readonly actual: number) {
    super(`${stream} has ${actual} records where ${expected} were expected: another writer was here; read on before appending`);
    this.name = 'WrongPosition';
  }
}

/**
 * The log could not be reached in time. `outcomeUnknown`: the records may have been written, or may still be; only the same batch
 * may be sent again, as `Log.append` says. Otherwise nothing was written, and nothing will be.
 */
export class LogUnavailable extends Error {
  constructor(readonly outcomeUnknown: boolean, options?: ErrorOptions) {
    super(outcomeUnknown ? 'the log did not answer: whether the records were written is unknown' : 'the log cannot be reached', options);
    this.name = 'LogUnavailable';
  }
}

/** A stream has a gap or goes backwards. Readers stop: nothing may be skipped. */
export class BrokenSequence extends Error {
  constructor(stream: Stream, expected: number, actual: number) {
    super(`${stream}: position ${actual} came where ${expected} was due`);
    this.name = 'BrokenSequence';
  }
}
