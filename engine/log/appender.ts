/**
 * Appends batches to one stream one after the other, each exactly once. When the answer to an attempt is lost, the
 * appender repeats the attempt at the same position until it knows whether the batch was written. Each adapter has its
 * own attempt. Below are the checks of a batch: what is malformed is refused, and nothing is written.
 */
import { backoffMs, pause } from '../waiting.js';
import { replaced, shorter, type HandleFailure, type KnownRecord } from './tail.js';
import {
  BrokenSequence, InvalidAppend, LogUnavailable, MAX_APPEND_BYTES, MAX_APPEND_RECORDS, MAX_RECORD_BYTES, RecordTooLarge,
  REMEMBERED_BATCHES, WrongPosition, type NewRecord, type RecordsLost, type Stream,
} from './log.js';

/**
 * Makes one attempt to put a batch into the store at position `at`, a length that the stream has had.
 *
 * - The stream still ends at `at`: the store writes the batch there.
 * - The batch's ids are already at `at`: the store finds the batch and writes nothing.
 * - Other records are at `at`: the position is TAKEN. This is final: no attempt at this position has written the batch
 *   or will write it.
 *
 * When `exactly` is false, a store may accept a range of positions that starts at `at`. It then looks for the batch in
 * the whole range before it writes, and writes at the end of the stream if the end is within the range.
 *
 * With `newest`, a store that can look and append in one step writes nothing unless it has this record. The answer is
 * LOST then.
 *
 * Throws AttemptFailed.
 */
export type AppendAttempt = (place: AppendPlace) => Promise<Attempted>;

export interface AppendPlace {
  readonly at: number;
  readonly exactly: boolean;
  readonly timeoutMs: number;
  /** The newest record that the handle has written or read. */
  readonly newest: KnownRecord | undefined;
}

export interface Attempted {
  /** The position of the batch's first record, or TAKEN, or LOST. */
  readonly first: number | typeof TAKEN | typeof LOST;
  /** The stream's length. Where the batch is in the stream, it may be told as ending with the batch. */
  readonly length: number;
  /** False: the batch was already stored, or the position is taken. */
  readonly written: boolean;
}

export const TAKEN = 'taken';
export const LOST = 'lost';

/** An attempt that got no answer from the store. */
export class AttemptFailed extends Error {
  readonly maybeWritten: boolean;
  readonly canPass: boolean;

  /** `maybeWritten`: the batch may have reached the store. `canPass`: the same attempt may succeed later. */
  constructor(cause: unknown, { maybeWritten, canPass }: { maybeWritten: boolean; canPass: boolean }) {
    super('an attempt to append got no answer', { cause });
    this.name = 'AttemptFailed';
    this.maybeWritten = maybeWritten;
    this.canPass = canPass;
  }
}

export interface Appender {
  /** As Log.append. The caller has checked the records. */
  append(records: readonly NewRecord[], expected: number | undefined): Promise<number>;
  /** Refuses further appends, and resolves when the accepted ones have ended. */
  close(): Promise<void>;
}

export interface AppenderOptions {
  readonly stream: Stream;
  /** Called once per batch. The attempts for one batch are made one after the other. */
  readonly attemptsOf: (records: readonly NewRecord[]) => AppendAttempt;
  /** The greatest known length of the stream. */
  readonly length: () => number;
  /** The newest record that the handle has written or read. */
  readonly newest: () => KnownRecord | undefined;
  readonly failure: HandleFailure;
  /** An append without a known result ends with LogUnavailable after this time, counted from the call. */
  readonly unknownAfterMs: number;
  /** An attempt without an answer is given up after this time. */
  readonly attemptTimeoutMs: number;
  /** Called with every durable batch, right after its append has resolved. */
  readonly appended?: (batch: AppendedBatch) => void;
}

export interface AppendedBatch {
  readonly first: number;
  readonly records: readonly NewRecord[];
  /** The stream's length. */
  readonly length: number;
  /** False: the ids were already stored, perhaps with other data than these. */
  readonly written: boolean;
}

/** Looked up at each call: the simulation replaces it after this module is loaded. */
const random = (): number => Math.random();
const AFTER_FAILURES = { firstMs: 20, longestMs: 1_000, random };
const AFTER_CONFLICTS = { firstMs: 1, longestMs: 50, random };

export function createAppender(options: AppenderOptions): Appender {
  const { stream, attemptsOf, unknownAfterMs, attemptTimeoutMs, appended, failure } = options;
  const unresolved = createUnresolved();
  let closed = false;
  let last: Promise<unknown> = Promise.resolve();

  /** Attempts until the answer is known or the deadline has passed. */
  async function untilKnown(
    records: readonly NewRecord[], expected: number | undefined, deadlineMs: number,
  ): Promise<AppendedBatch> {
    failure.signal.throwIfAborted();
    const attempt = attemptsOf(records);
    const remembered = expected === undefined ? unresolved.take(records) : undefined;
    let at = expected ?? remembered ?? options.length();
    let unknown = remembered !== undefined;
    let failures = 0;
    let conflicts = 0;
    for (;;) {
      let pauseMs = 0;
      let cause: unknown;
      let canPass = true;
      try {
        const timeoutMs = Math.min(attemptTimeoutMs, Math.max(1, deadlineMs - performance.now()));
        const [known, newest] = [options.length(), options.newest()];
        const attempted = await attempt({ at, exactly: expected !== undefined, timeoutMs, newest });
        const { first, length, written } = attempted;
        const fault = faultOf(attempted, { stream, at, known, newest, count: records.length });
        // An earlier attempt may have written the batch to a store that has it still, and may be brought back.
        if (fault !== undefined) {
          throw unknown ? new LogUnavailable(true, { cause: failure.found(fault) }) : failure.found(fault);
        }
        if (typeof first === 'number') return { first, records, length, written };
        if (expected !== undefined) throw new WrongPosition(stream, expected, length);
        at = length;
        unknown = false;
        conflicts += 1;
        if (conflicts > 1) pauseMs = backoffMs(conflicts - 1, AFTER_CONFLICTS);
      } catch (error) {
        if (!(error instanceof AttemptFailed)) throw error;
        if (error.cause instanceof BrokenSequence) throw failure.found(error.cause);
        ({ cause, canPass } = error);
        unknown ||= error.maybeWritten;
        failures += 1;
        pauseMs = backoffMs(failures, AFTER_FAILURES);
      }
      if (!canPass || performance.now() + pauseMs >= deadlineMs) {
        if (unknown && expected === undefined) unresolved.remember(records, at);
        throw new LogUnavailable(unknown, { cause });
      }
      if (pauseMs > 0) await pause(pauseMs);
    }
  }

  return {
    append(records, expected) {
      if (closed) return Promise.reject(new LogUnavailable(false));
      const deadlineMs = performance.now() + unknownAfterMs;
      const done = last.then(() => untilKnown(records, expected, deadlineMs));
      last = done.then((batch) => { appended?.(batch); }, () => undefined);
      return done.then(({ first }) => first);
    },
    async close() {
      closed = true;
      await last;
    },
  };
}

/** The error when an answer shows that the store has lost records, or has written the batch where it cannot be. */
function faultOf({ first, length }: Attempted, { stream, at, known, newest, count }: {
  /** The length that was known before the attempt. */
  readonly known: number;
  readonly stream: Stream; readonly at: number; readonly newest: KnownRecord | undefined; readonly count: number;
}): RecordsLost | BrokenSequence | undefined {
  if (typeof first === 'number') return first >= at && first + count <= length ? undefined : new BrokenSequence(stream, at, first);
  if (length < known) return shorter(stream, { known, length });
  return first === LOST ? replaced(stream, newest?.position ?? at) : undefined;
}

/**
 * The position of the last attempt for each batch whose append ended without a known result: only there can the batch
 * be.
 */
function createUnresolved() {
  const positions = new Map<string, number>();
  const keyOf = (records: readonly NewRecord[]): string => records.map(({ id }) => id).join();

  return {
    remember(records: readonly NewRecord[], at: number): void {
      positions.set(keyOf(records), at);
      const [oldest] = positions.keys();
      if (positions.size > REMEMBERED_BATCHES && oldest !== undefined) positions.delete(oldest);
    },
    /** Returns the position of a batch and forgets the batch. */
    take(records: readonly NewRecord[]): number | undefined {
      if (positions.size === 0) return undefined;
      const key = keyOf(records);
      const at = positions.get(key);
      positions.delete(key);
      return at;
    },
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Throws InvalidAppend or RecordTooLarge unless the record can be appended. */
export function checkRecord(record: NewRecord): void {
  if (typeof record.id !== 'string' || !UUID.test(record.id)) {
    throw new InvalidAppend(`a record's id is a UUID in lower case, not ${JSON.stringify(record.id)}`);
  }
  if (!(record.data instanceof Uint8Array)) throw new InvalidAppend('a record\'s data is a Uint8Array');
  if (record.data.length > MAX_RECORD_BYTES) throw new RecordTooLarge(record.data.length);
}

/** Throws InvalidAppend or RecordTooLarge unless the batch can be appended as one. */
export function checkAppend(records: readonly NewRecord[], expected: number | undefined): void {
  if (records.length === 0) throw new InvalidAppend('the batch is empty');
  if (records.length > MAX_APPEND_RECORDS) {
    throw new InvalidAppend(`the batch has ${records.length} records; split it: one append takes at most ${MAX_APPEND_RECORDS}`);
  }
  if (expected !== undefined && !isPosition(expected)) throw new InvalidAppend(`${expected} is not a position`);
  let bytes = 0;
  for (const record of records) {
    checkRecord(record);
    bytes += record.data.length;
  }
  if (bytes > MAX_APPEND_BYTES) throw new InvalidAppend(`the batch has ${bytes} bytes; split it: one append takes at most ${MAX_APPEND_BYTES}`);
}

/** Throws RangeError unless `from` is a log position: an integer from 0. */
export function checkPosition(from: number): void {
  if (!isPosition(from)) throw new RangeError(`a log position is an integer from 0, not ${from}`);
}

function isPosition(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

export interface AppendSize {
  readonly maxRecords: number;
  readonly maxBytes: number;
}

/** The largest append that the log takes. */
export const LARGEST_APPEND: AppendSize = { maxRecords: MAX_APPEND_RECORDS, maxBytes: MAX_APPEND_BYTES };

/**
 * How many of the records, counted from the first, fit into one append. A first record that is larger than `maxBytes`
 * counts as 1.
 */
export function fittingRecords(records: Iterable<Pick<NewRecord, 'data'>>, { maxRecords, maxBytes }: AppendSize = LARGEST_APPEND): number {
  let count = 0;
  let bytes = 0;
  for (const { data } of records) {
    bytes += data.length;
    if (count > 0 && (count >= maxRecords || bytes > maxBytes)) break;
    count += 1;
  }
  return count;
}
