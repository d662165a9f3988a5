/**
 * The log in memory, for tests and simulations. Handles of one store see the same records, like processes that share a database.
 */
import { createBell, type Bell } from '../../waiting.js';
import { checkAppend, checkPosition } from '../append-check.js';
import { createAppender, TAKEN, type Attempted } from '../appender.js';
import { LogUnavailable, type Log, type LogRecord, type NewRecord, type Stream } from '../log.js';
import { PAGE_RECORDS } from '../tail.js';

/** The records of both streams; they outlive a handle. */
export interface MemoryStore {
  readonly records: Readonly<Record<Stream, LogRecord[]>>;
  /** Rings after every append. */
  readonly grown: Bell;
}

export function createMemoryStore(): MemoryStore {
  return { records: { commands: [], outcomes: [] }, grown: createBell() };
}

/** The connection between a handle and its store: makes the store attempt an append, and returns the answer. Throws AttemptFailed. */
export type MemoryLink = (attempt: () => Attempted, timeoutMs: number) => Promise<Attempted>;

export interface MemoryLogOptions {
  /** Default: a link that never fails. */
  readonly link?: MemoryLink;
  /** The most records per page. */
  readonly pageRecords?: number;
  /** An append without a known result ends with LogUnavailable after this time. Default 30 s. */
  readonly unknownAfterMs?: number;
  /** An attempt without an answer is given up after this time. Default 10 s. */
  readonly attemptTimeoutMs?: number;
}

const direct: MemoryLink = async (attempt) => attempt();
const WAIT_MS = 3_600_000;

/** A log over `store`, or over a store of its own. `close` ends this handle; the store keeps its records. */
export function createMemoryLog(store: MemoryStore = createMemoryStore(), options: MemoryLogOptions = {}): Log {
  const { link = direct, pageRecords = PAGE_RECORDS, unknownAfterMs = 30_000, attemptTimeoutMs = 10_000 } = options;
  const closed = new AbortController();
  const appenderOf = (stream: Stream) => createAppender({
    stream, unknownAfterMs, attemptTimeoutMs,
    attemptsOf: (records) => ({ at, timeoutMs }) => link(() => attemptIn(store, { stream, records, at }), timeoutMs),
    length: () => store.records[stream].length,
  });
  const appenders = { commands: appenderOf('commands'), outcomes: appenderOf('outcomes') };
  const page = (stream: Stream, from: number, limit: number): LogRecord[] => (
    store.records[stream].slice(from, from + Math.max(0, Math.min(limit, pageRecords))));

  return {
    async append(stream, records, expected) {
      checkAppend(records, expected);
      return await appenders[stream].append(records, expected);
    },

    async read(stream, from, limit) {
      checkPosition(from);
      if (closed.signal.aborted) throw new LogUnavailable(false);
      return page(stream, from, limit);
    },

    async length(stream) {
      if (closed.signal.aborted) throw new LogUnavailable(false);
      return store.records[stream].length;
    },

    async* follow(stream, from, signal) {
      checkPosition(from);
      const ended = AbortSignal.any([signal, closed.signal]);
      for (let next = from; !ended.aborted;) {
        const batch = page(stream, next, pageRecords);
        next += batch.length;
        if (batch.length > 0) yield batch;
        else await store.grown.wait(ended, WAIT_MS);
      }
    },

    async close() {
      closed.abort();
      await Promise.all([appenders.commands.close(), appenders.outcomes.close()]);
    },
  };
}

/** Writes the batch at exactly `at`, if the stream ends there, or finds the batch there. */
function attemptIn({ records: streams, grown }: MemoryStore, { stream, records, at }: {
  stream: Stream; records: readonly NewRecord[]; at: number;
}): Attempted {
  const stored = streams[stream];
  if (at !== stored.length) {
    const found = records.every(({ id }, i) => stored[at + i]?.id === id);
    return { first: found ? at : TAKEN, length: stored.length, written: false };
  }
  records.forEach(({ id, data }, i) => { stored.push({ position: at + i, id, data }); });
  grown.ring();
  return { first: at, length: stored.length, written: true };
}
