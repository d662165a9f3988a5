/**
 * Appends to one stream over a connection of its own, batch by batch, each written exactly once whatever happens to the
 * connection.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LogUnavailable, WrongPosition, type NewRecord, type Stream } from '../log.js';
import { encodeData, encodeIds } from './binary.js';
import { canPass, isStatementError, type Connection } from './connection.js';
import { APPEND_BATCH, SEARCHED_AT_ONCE, STREAM_NUMBERS } from './schema.js';

export interface Appender {
  /** As Log.append; the records have been checked. */
  append(records: readonly NewRecord[], expected: number | undefined): Promise<number>;
  /** Takes no more, and waits for those that it has. */
  close(): Promise<void>;
}

export interface AppenderOptions {
  readonly stream: Stream;
  readonly connection: Connection;
  /** A length that the stream has had: the newest that is known, of other processes' records too. */
  readonly length: () => number;
  /** After this time an append ends with LogUnavailable. */
  readonly unknownAfterMs: number;
  /** After this time without an answer the connection is given up for a new one. */
  readonly attemptTimeoutMs: number;
  /** Told of every batch that is durable, right after its append has resolved. */
  readonly appended: (appended: Appended, records: readonly NewRecord[]) => void;
}

export interface Appended {
  readonly first: number;
  /** The stream's length. */
  readonly length: number;
  /** False: the batch was there already, by its ids. What it says there counts, which may be something else. */
  readonly written: boolean;
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
const UNRESOLVED = 1_000;

export function createAppender(options: AppenderOptions): Appender {
  const { stream, connection, unknownAfterMs, attemptTimeoutMs, appended } = options;
  let closed = false;
  let last: Promise<unknown> = Promise.resolve();
  // From where to look for batches whose outcome was never learnt, by their first id: others may be behind them by now.
  const unresolved = new Map<string, number>();

  /** Sends until the answer is known or the deadline has come. */
  async function untilKnown(records: readonly NewRecord[], expected: number | undefined, deadlineMs: number): Promise<Answer> {
    const key = records[0]!.id;
    const batch = [STREAM_NUMBERS[stream], encodeIds(records), encodeData(records), expected ?? null];
    let since = unresolved.get(key) ?? options.length();
    let unknown = unresolved.has(key);
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      let sent = false;
      try {
        const leftMs = Math.max(1, deadlineMs - performance.now());
        const timeoutMs = Math.min(attemptTimeoutMs, leftMs);
        const answer = await send({ connection, values: [...batch, since], timeoutMs, sending: () => { sent = true; } });
        if (answer.first !== undefined || expected !== undefined) {
          unresolved.delete(key);
          return answer;
        }
        // Too far behind: on with the search, or to its end when no attempt can have written what it looks for.
        since = unknown ? since + SEARCHED_AT_ONCE : answer.length;
        continue;
      } catch (cause) {
        if (!isStatementError(cause)) {
          connection.drop();
          unknown ||= sent;
        }
        if (!canPass(cause) || performance.now() + pauseMs >= deadlineMs) {
          if (unknown) remember(key, since);
          throw new LogUnavailable(unknown, { cause });
        }
      }
      await sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  function remember(key: string, since: number): void {
    unresolved.set(key, since);
    if (unresolved.size > UNRESOLVED) unresolved.delete(unresolved.keys().next().value!);
  }

  return {
    append(records, expected) {
      if (closed) return Promise.reject(new LogUnavailable(false));
      const deadlineMs = performance.now() + unknownAfterMs;
      const answer = last.then(() => untilKnown(records, expected, deadlineMs));
      const done = answer.then(({ first, length, written }): Appended => {
        if (first === undefined) throw new WrongPosition(stream, expected!, length);
        return { first, length, written };
      });
      last = done.then((batch) => { appended(batch, records); }, () => undefined);
      return done.then(({ first }) => first);
    },
    async close() {
      closed = true;
      await last;
      await connection.end();
    },
  };
}

interface Answer {
  /** Undefined: another writer was at `expected`, or `since` was too far behind. */
  readonly first: number | undefined;
  readonly length: number;
  readonly written: boolean;
}

/** One attempt. `sending` is called when the batch is about to leave; before that nothing can have been written. */
async function send({ connection, values, timeoutMs, sending }: {
  connection: Connection; values: unknown[]; timeoutMs: number; sending: () => void;
}): Promise<Answer> {
  const client = await connection.get();
  sending();
  const query = { name: 'log_append', text: APPEND_BATCH, values, rowMode: 'array' as const, query_timeout: timeoutMs };
  const { rows } = await client.query<[string | null, string, boolean | null]>(query);
  const [first, length, written] = rows[0]!;
  return { first: first === null ? undefined : Number(first), length: Number(length), written: written === true };
}
