/** The log's port: what the exchange asks of an event store, and the errors that every adapter throws alike. */

/** The streams of one shard, in lockstep: outcome n answers command n. */
export type Stream = 'commands' | 'outcomes';

export interface NewRecord {
  /** UUID of the record's natural key (an order's hash, a chain log position). A retry carries the same one. */
  readonly id: string;
  readonly data: Uint8Array;
}

export interface LogRecord extends NewRecord {
  /** Contiguous from 0 in its stream. */
  readonly position: number;
}

export interface Log {
  /**
   * Appends all records or none, durably, and returns the first one's position.
   *
   * With `expected`, the first record must get just that position, or WrongPosition is thrown; when the records there already
   * are these (same ids), the append counts as done. A lost connection is retried with the same ids until the outcome is known:
   * records are never written twice. Throws RecordTooLarge (nothing written), WrongPosition, LogUnavailable.
   */
  append(stream: Stream, records: readonly NewRecord[], expected?: number): Promise<number>;

  /** Up to `limit` records from position `from` on, contiguous; empty at the end of the stream. */
  read(stream: Stream, from: number, limit: number): Promise<LogRecord[]>;

  /** The stream's length: the position that the next record will get. */
  length(stream: Stream): Promise<number>;

  /** Batches of records from `from` on, forever, each record once and in order, until `signal` aborts. Outlives lost connections. */
  follow(stream: Stream, from: number, signal: AbortSignal): AsyncIterable<readonly LogRecord[]>;

  close(): Promise<void>;
}

/** The largest record's bytes. EventStoreDB's default limit for a whole append is 1 MiB. */
export const MAX_RECORD_BYTES = 1_000_000;

export class RecordTooLarge extends Error {
  constructor(bytes: number) {
    super(`the record has ${bytes} bytes; the log takes at most ${MAX_RECORD_BYTES}: make it smaller or split it`);
    this.name = 'RecordTooLarge';
  }
}

/** Somebody else has written at the expected position. */
export class WrongPosition extends Error {
  constructor(readonly stream: Stream, readonly expected: number, readonly actual: number) {
    super(`${stream} has ${actual} records where ${expected} were expected: another writer was here; read on before appending`);
    this.name = 'WrongPosition';
  }
}

/**
 * The log could not be reached in time. `outcomeUnknown`: the append may or may not have been written, so only a retry with the
 * same ids is safe; otherwise nothing was written.
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
