/**
 * Appends to one stream over a connection of its own, batch by batch, each written exactly once whatever happens to the
 * connection.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LogUnavailable, WrongPosition, type NewRecord, type Stream } from '../log.js';
import { encodeData, encodeIds } from './postgres-binary.js';
import { canPass, isStatementError, type Connection } from './postgres-connection.js';
import { APPEND_BATCH, STREAM_NUMBERS } from './postgres-schema.js';

export interface Appender {
  /** As Log.append; the records have been checked. */
  append(records: readonly NewRecord[], expected: number | undefined): Promise<number>;
  /** Takes no more, and waits for those that it has. */
  close(): Promise<void>;
}

export interface AppenderOptions {
  readonly stream: Stream;
  readonly connection: Connection;
  /** A length that the stream had at some time before the first append. */
  readonly length: number;
  /** After this time an append ends with LogUnavailable. */
  readonly unknownAfterMs: number;
  /** After this time without an answer the connection is given up for a new one. */
  readonly attemptTimeoutMs: number;
  /** Told of every batch that is durable, right after its append has resolved. */
  readonly appended: (first: number, records: readonly NewRecord[]) => void;
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
const UNRESOLVED = 1_000;

export function createAppender(options: AppenderOptions): Appender {
  const { stream, connection, unknownAfterMs, attemptTimeoutMs, appended } = options;
  let knownLength = options.length;
  let closed = false;
  let last: Promise<unknown> = Promise.resolve();
  // From where to look for batches whose outcome was never learnt, by their first id: others may be behind them by now.
  const unresolved = new Map<string, number>();

  /** Sends until the answer is known or the deadline has come. */
  async function untilKnown(records: readonly NewRecord[], expected: number | undefined, deadlineMs: number): Promise<Answer> {
    const key = records[0]!.id;
    const since = unresolved.get(key) ?? knownLength;
    const values = [STREAM_NUMBERS[stream], encodeIds(records), encodeData(records), expected ?? null, since];
    let unknown = unresolved.has(key);
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      let sent = false;
      try {
        const leftMs = Math.max(1, deadlineMs - performance.now());
        const timeoutMs = Math.min(attemptTimeoutMs, leftMs);
        const answer = await send({ connection, values, timeoutMs, sending: () => { sent = true; } });
        unresolved.delete(key);
        return answer;
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
      const done = answer.then(({ first, length: streamLength }) => {
        knownLength = Math.max(knownLength, streamLength);
        if (first === undefined) throw new WrongPosition(stream, expected!, streamLength);
        return first;
      });
      last = done.then((first) => { appended(first, records); }, () => undefined);
      return done;
    },
    async close() {
      closed = true;
      await last;
      await connection.end();
    },
  };
}

interface Answer {
  /** Undefined: another writer was there. */
  readonly first: number | undefined;
  readonly length: number;
}

/** One attempt. `sending` is called when the batch is about to leave; before that nothing can have been written. */
async function send({ connection, values, timeoutMs, sending }: {
  connection: Connection; values: readonly unknown[]; timeoutMs: number; sending: () => void;
}): Promise<Answer> {
  const client = await connection.get();
  sending();
  const query = { name: 'log_append', text: APPEND_BATCH, values: [...values], rowMode: 'array' as const, query_timeout: timeoutMs };
  const { rows } = await client.query<[string | null, string]>(query);
  const [first, length] = rows[0]!;
  return { first: first === null ? undefined : Number(first), length: Number(length) };
}
