/**
 * Appends batches to one stream one after the other, each exactly once. When the answer to an attempt is lost, the appender repeats the
 * attempt at the same position until it knows whether the batch was written. Each adapter has its own attempt.
 */
import { backoffMs, pause, variedMs } from '../waiting.js';
import { LogUnavailable, REMEMBERED_BATCHES, WrongPosition, type NewRecord, type Stream } from './log.js';

/**
 * Makes one attempt to put a batch into the store at position `at`, a length that the stream has had.
 *
 * - The stream still ends at `at`: the store writes the batch there.
 * - The batch's ids are already at `at`: the store finds the batch and writes nothing.
 * - Other records are at `at`: the position is TAKEN. This is final: no attempt at this position has written the batch or will write it.
 *
 * When `exactly` is false, a store may accept a range of positions that starts at `at`. It then looks for the batch in the whole range
 * before it writes, and writes at the end of the stream if the end is within the range.
 *
 * Throws AttemptFailed.
 */
export type Attempt = (place: { readonly at: number; readonly exactly: boolean; readonly timeoutMs: number }) => Promise<Attempted>;

export interface Attempted {
  /** The position of the batch's first record, or TAKEN. */
  readonly first: number | typeof TAKEN;
  /** The stream's length. */
  readonly length: number;
  /** False: the batch was already stored, or the position is taken. */
  readonly written: boolean;
}

export const TAKEN = 'taken';

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
  readonly attemptsOf: (records: readonly NewRecord[]) => Attempt;
  /** The newest known length of the stream. */
  readonly length: () => number;
  /** An append without a known result ends with LogUnavailable after this time, counted from the call. */
  readonly unknownAfterMs: number;
  /** An attempt without an answer is given up after this time. */
  readonly attemptTimeoutMs: number;
  /** Called with every durable batch, right after its append has resolved. */
  readonly appended?: (batch: Batch) => void;
}

export interface Batch {
  readonly first: number;
  readonly records: readonly NewRecord[];
  /** The stream's length. */
  readonly length: number;
  /** False: the ids were already stored, perhaps with other data than these. */
  readonly written: boolean;
}

const AFTER_FAILURES = { firstMs: 20, longestMs: 1_000 };
const AFTER_CONFLICTS = { firstMs: 1, longestMs: 50 };

export function createAppender(options: AppenderOptions): Appender {
  const { stream, attemptsOf, unknownAfterMs, attemptTimeoutMs, appended } = options;
  const unresolved = createUnresolved();
  let closed = false;
  let last: Promise<unknown> = Promise.resolve();

  /** Attempts until the answer is known or the deadline has passed. */
  async function untilKnown(records: readonly NewRecord[], expected: number | undefined, deadlineMs: number): Promise<Batch> {
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
        const { first, length, written } = await attempt({ at, exactly: expected !== undefined, timeoutMs });
        if (first !== TAKEN) return { first, records, length, written };
        if (expected !== undefined) throw new WrongPosition(stream, expected, length);
        at = length;
        unknown = false;
        conflicts += 1;
        if (conflicts > 1) pauseMs = variedMs(backoffMs(conflicts - 1, AFTER_CONFLICTS), Math.random);
      } catch (error) {
        if (!(error instanceof AttemptFailed)) throw error;
        ({ cause, canPass } = error);
        unknown ||= error.maybeWritten;
        failures += 1;
        pauseMs = variedMs(backoffMs(failures, AFTER_FAILURES), Math.random);
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

/** The position of the last attempt for each batch whose append ended without a known result: only there can the batch be. */
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
