/**
 * Appends batches to one stream one after the other, each exactly once: an attempt whose answer is lost is repeated at the same
 * position until it is known what became of it. Each adapter brings its own attempt.
 */
import { backoffMs, pause } from '../waiting.js';
import { LogUnavailable, REMEMBERED_BATCHES, WrongPosition, type NewRecord, type Stream } from './log.js';

/**
 * Tries to put a batch into the store at a position, once. `at` is a length that the stream has had.
 *
 * - The stream still ends at `at`: the batch is written there.
 * - The batch is at `at`, by its ids: it is found.
 * - Others are there: the position is TAKEN, which is final. No attempt at this position has written the batch or ever will.
 *
 * Unless it is to be `exactly` at `at`, a store may treat a range of positions from `at` on as one: it then looks for the batch
 * in the whole range before it writes, and writes at the end of the stream while that is in the range.
 *
 * Throws AttemptFailed.
 */
export type Attempt = (place: { readonly at: number; readonly exactly: boolean; readonly timeoutMs: number }) => Promise<Attempted>;

export interface Attempted {
  /** Where the batch is, or TAKEN. */
  readonly first: number | typeof TAKEN;
  /** The stream's length. */
  readonly length: number;
  /** False: the batch was there already, or the position is taken. */
  readonly written: boolean;
}

export const TAKEN = 'taken';

/** An attempt that brought no answer. */
export class AttemptFailed extends Error {
  readonly maybeWritten: boolean;
  readonly canPass: boolean;

  /** `maybeWritten`: the batch may have reached the store. `canPass`: the same attempt may succeed a little later. */
  constructor(cause: unknown, { maybeWritten, canPass }: { maybeWritten: boolean; canPass: boolean }) {
    super('an attempt to append brought no answer', { cause });
    this.name = 'AttemptFailed';
    this.maybeWritten = maybeWritten;
    this.canPass = canPass;
  }
}

export interface Appender {
  /** As Log.append; the records have been checked. */
  append(records: readonly NewRecord[], expected: number | undefined): Promise<number>;
  /** Takes no more, and waits for those that it has. */
  close(): Promise<void>;
}

export interface AppenderOptions {
  readonly stream: Stream;
  /** Called once for each batch; the attempts of one batch are made one after the other. */
  readonly attemptsOf: (records: readonly NewRecord[]) => Attempt;
  /** A length that the stream has had, the newest that is known. */
  readonly length: () => number;
  /** After this time, counted from the call, an append ends with LogUnavailable. */
  readonly unknownAfterMs: number;
  /** After this time an attempt without an answer is given up. */
  readonly attemptTimeoutMs: number;
  /** Told of every batch that is durable, right after its append has resolved. */
  readonly appended?: (batch: Batch) => void;
}

export interface Batch {
  readonly first: number;
  readonly records: readonly NewRecord[];
  /** The stream's length. */
  readonly length: number;
  /** False: the batch was there already, by its ids, perhaps with other data than these. */
  readonly written: boolean;
}

const AFTER_FAILURES = { firstMs: 20, longestMs: 1_000 };
const AFTER_CONFLICTS = { firstMs: 1, longestMs: 50 };

export function createAppender(options: AppenderOptions): Appender {
  const { stream, attemptsOf, unknownAfterMs, attemptTimeoutMs, appended } = options;
  const unresolved = createUnresolved();
  let closed = false;
  let last: Promise<unknown> = Promise.resolve();

  /** Attempts until the answer is known or the deadline has come. */
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
        if (conflicts > 1) pauseMs = backoffMs(conflicts - 1, AFTER_CONFLICTS);
      } catch (error) {
        if (!(error instanceof AttemptFailed)) throw error;
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

/** The position of the last attempt of each batch whose outcome was not learnt: the only place where the batch can be. */
function createUnresolved() {
  const positions = new Map<string, number>();
  const keyOf = (records: readonly NewRecord[]): string => records.map(({ id }) => id).join();

  return {
    remember(records: readonly NewRecord[], at: number): void {
      positions.set(keyOf(records), at);
      if (positions.size > REMEMBERED_BATCHES) positions.delete(positions.keys().next().value!);
    },
    /** The position of a batch, which is forgotten with that. */
    take(records: readonly NewRecord[]): number | undefined {
      if (positions.size === 0) return undefined;
      const key = keyOf(records);
      const at = positions.get(key);
      positions.delete(key);
      return at;
    },
  };
}
