/**
 * The log in memory, for tests and simulations. Handles of one store see the same records, like processes that share a
 * database.
 */
import { createBell, type Bell } from '../../waiting.js';
import { checkAppend, checkPosition, createAppender, LOST, TAKEN, type Attempted, type AppendPlace } from '../appender.js';
import { createHandleFailure, createKnown, replaced, PAGE_RECORDS } from '../tail.js';
import { LogUnavailable, type Log, type LogOptions, type LogRecord, type NewRecord, type Stream } from '../log.js';

/** The records of both streams; they outlive a handle. */
export interface MemoryStore {
  readonly records: Readonly<Record<Stream, LogRecord[]>>;
  /** Rings after every append. */
  readonly grown: Bell;
}

export function createMemoryStore(): MemoryStore {
  return { records: { commands: [], outcomes: [] }, grown: createBell() };
}

/**
 * The connection between a handle and its store: makes the store attempt an append, and returns the answer. Throws
 * AttemptFailed.
 */
export type MemoryLink = (attempt: () => Attempted, timeoutMs: number) => Promise<Attempted>;

export interface MemoryLogOptions extends Omit<LogOptions, 'pollMs'> {
  /** Default: a link that never fails. */
  readonly link?: MemoryLink;
  /** The most records per page. */
  readonly pageRecords?: number;
}

const direct: MemoryLink = async (attempt) => attempt();
const WAIT_MS = 3_600_000;

/** A log over `store`, or over a store of its own. `close` ends this handle; the store keeps its records. */
export function createMemoryLog(store: MemoryStore = createMemoryStore(), options: MemoryLogOptions = {}): Log {
  const { link = direct, pageRecords = PAGE_RECORDS, unknownAfterMs = 30_000, attemptTimeoutMs = 10_000 } = options;
  const closed = new AbortController();
  const failure = createHandleFailure(options.failed);
  const knownOf = (stream: Stream) => createKnown({ stream, length: store.records[stream].length, failure });
  const known = { commands: knownOf('commands'), outcomes: knownOf('outcomes') };
  const appenderOf = (stream: Stream) => createAppender({
    stream, unknownAfterMs, attemptTimeoutMs, failure, newest: known[stream].newest,
    attemptsOf: (records) => (place) => link(() => attemptIn(store, { stream, records, ...place }), place.timeoutMs),
    // The end as it is: a network that loses nothing would tell it.
    length: () => Math.max(known[stream].length(), store.records[stream].length),
    appended: ({ first, records }) => { known[stream].has(first, records); },
  });
  const appenders = { commands: appenderOf('commands'), outcomes: appenderOf('outcomes') };
  const checkUsable = (): void => {
    if (closed.signal.aborted) throw new LogUnavailable(false);
    failure.signal.throwIfAborted();
  };
  const lengthOf = (stream: Stream): number => (
    known[stream].answered({ length: store.records[stream].length, before: known[stream].length() }));
  const page = (stream: Stream, from: number, limit: number): LogRecord[] => {
    lengthOf(stream);
    const records = store.records[stream].slice(from, from + Math.max(0, Math.min(limit, pageRecords)));
    const error = known[stream].has(from, records);
    if (error !== undefined) throw error;
    return records;
  };

  return {
    async append(stream, records, expected) {
      checkAppend(records, expected);
      return await appenders[stream].append(records, expected);
    },

    async read(stream, from, limit) {
      checkPosition(from);
      checkUsable();
      return page(stream, from, limit);
    },

    async length(stream) {
      checkUsable();
      return lengthOf(stream);
    },

    async* follow(stream, from, signal) {
      checkPosition(from);
      const ended = AbortSignal.any([signal, closed.signal, failure.signal]);
      let previous: string | undefined;
      for (let next = from; !ended.aborted;) {
        const batch = page(stream, next, pageRecords);
        const before = store.records[stream][next - 1]?.id;
        if (previous !== undefined && before !== previous) throw failure.found(replaced(stream, next - 1));
        next += batch.length;
        previous = batch.at(-1)?.id ?? before;
        if (batch.length > 0) yield batch;
        else await store.grown.wait(ended, WAIT_MS);
      }
      if (!signal.aborted && !closed.signal.aborted) failure.signal.throwIfAborted();
    },

    async close() {
      closed.abort();
      await Promise.all([appenders.commands.close(), appenders.outcomes.close()]);
    },
  };
}

/**
 * Writes the batch at exactly `at`, if the stream ends there, or finds the batch there; but only if the store has the
 * newest known record.
 */
function attemptIn({ records: streams, grown }: MemoryStore, { stream, records, at, newest }: Pick<AppendPlace, 'at' | 'newest'> & {
  readonly stream: Stream; readonly records: readonly NewRecord[];
}): Attempted {
  const stored = streams[stream];
  if (newest !== undefined && stored[newest.position]?.id !== newest.id) {
    return { first: LOST, length: stored.length, written: false };
  }
  if (at !== stored.length) {
    const found = records.every(({ id }, i) => stored[at + i]?.id === id);
    return { first: found ? at : TAKEN, length: stored.length, written: false };
  }
  records.forEach(({ id, data }, i) => { stored.push({ position: at + i, id, data }); });
  grown.ring();
  return { first: at, length: stored.length, written: true };
}
