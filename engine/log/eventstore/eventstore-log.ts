/**
 * The log in EventStoreDB (KurrentDB): one event per record, and a record's position is its event's revision.
 *
 * Every append names the revision that it wants. So a repetition is found by its ids, and a wrong revision proves that nothing was written
 * there. The server's `ANY` is never used: it knows repeated ids from a bounded cache only.
 */
import { retrying } from '../../waiting.js';
import { checkAppend, checkPosition, AttemptFailed, createAppender, TAKEN, type AppendAttempt } from '../appender.js';
import { createHandleFailure, readOverlapping, createTail, PAGE_RECORDS } from '../tail.js';
import {
  BrokenSequence, LogRefused, LogUnavailable, UnusableLog, type Log, type LogOptions, type LogRecord, type NewRecord, type Stream,
} from '../log.js';
import { onceMore, readUntilAborted } from '../reading.js';
import { connectEventStore, LEAST_CONNECT_MS, type EventStore } from './client.js';
import { canPass, maybeWritten } from './faults.js';
import { createStandingSubscription } from './subscription.js';
import { parseEventStoreUrl } from './url.js';

export interface EventStoreLogOptions extends LogOptions {
  /** See url.ts. */
  readonly url: string;
}

const STREAMS: readonly Stream[] = ['commands', 'outcomes'];
const BETWEEN_READS_MS = 50;
/** An append that the server refused, and no later one, makes checks fail for this time; then they decide themselves. */
const REFUSED_FOR_MS = 10_000;
const AT_THE_START = { firstMs: 50, longestMs: 1_000 };

const perStream = <T>(make: (stream: Stream) => T): Record<Stream, T> => ({ commands: make('commands'), outcomes: make('outcomes') });

/** Opens the log. Its streams come into being with their first records. Throws BadEventStoreUrl, or LogUnavailable. */
export async function openEventStoreLog(options: EventStoreLogOptions): Promise<Log> {
  const { url, unknownAfterMs = 30_000, attemptTimeoutMs = 10_000, pollMs = 1_000 } = options;
  let restored = (): void => undefined;
  const store = connectEventStore(parseEventStoreUrl(url), { timeoutMs: attemptTimeoutMs, restored: () => { restored(); } });
  const lengths = await firstLengths(store, Math.max(attemptTimeoutMs, LEAST_CONNECT_MS)).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const closed = new AbortController();
  const failure = createHandleFailure(options.failed);
  const tails = perStream((stream) => createTail({ stream, pollMs, failure, length: lengths[stream] }));
  const subscriptions = perStream((stream) => createStandingSubscription({
    subscribe: (from, signal) => store.subscribe(stream, from, signal),
    received: (records) => { tails[stream].push(records[0]?.position ?? 0, records); },
    random: () => Math.random(),
  }));
  restored = () => {
    // Followers need not wait until the pause or the poll is over.
    for (const stream of STREAMS) {
      subscriptions[stream].wake();
      tails[stream].check();
    }
  };
  const knownLength = (stream: Stream): number => lengths[stream] = Math.max(lengths[stream], tails[stream].length());
  const refusals = perStream(createRefusal);
  const appenders = perStream((stream) => createAppender({
    stream, unknownAfterMs, attemptTimeoutMs,
    attemptsOf: (records) => attemptsOf(store, stream, records, refusals[stream]),
    length: () => knownLength(stream),
    newest: tails[stream].newest, failure,
    // Followers get what the server stored, by the subscription: a batch that was there already may have had other bytes.
    appended: ({ length }) => { lengths[stream] = Math.max(lengths[stream], length); },
  }));
  const reads = createReads({ store, tails, knownLength, failure, closed: closed.signal, attemptTimeoutMs });

  return {
    async append(stream, records, expected) {
      checkAppend(records, expected);
      return await appenders[stream].append(records, expected);
    },
    async read(stream, from, limit) {
      checkPosition(from);
      const before = knownLength(stream);
      const records = await reads.once(() => store.read(stream, from, Math.min(limit, PAGE_RECORDS)));
      tails[stream].seen(from, records);
      if (records.length === 0 && limit > 0 && from < before) throw new BrokenSequence(stream, from, await reads.length(stream));
      return records;
    },
    length: reads.length,
    follow(stream, from, signal) {
      checkPosition(from);
      subscriptions[stream].start(tails[stream].length());
      const ended = AbortSignal.any([signal, closed.signal]);
      return tails[stream].follow(from, ended, (next, previous) => readUntilAborted(() => reads.page(stream, next, previous), ended, canPass));
    },
    async check({ writes, timeoutMs }) {
      failure.signal.throwIfAborted();
      await reads.check(writes, timeoutMs);
      for (const stream of STREAMS) refusals[stream].throwIfRecent();
    },
    async close() {
      closed.abort();
      await Promise.all(STREAMS.map((stream) => appenders[stream].close()));
      await Promise.all(STREAMS.map((stream) => subscriptions[stream].close()));
      await store.close();
    },
  };
}

interface ReadParts {
  readonly store: EventStore;
  readonly tails: Readonly<Record<Stream, ReturnType<typeof createTail>>>;
  /** The length that the stream had at least. */
  readonly knownLength: (stream: Stream) => number;
  readonly failure: ReturnType<typeof createHandleFailure>;
  readonly closed: AbortSignal;
  readonly attemptTimeoutMs: number;
}

/** Reads of a store that may have lost or hidden what this process knows. */
function createReads({ store, tails, knownLength, failure, closed, attemptTimeoutMs }: ReadParts) {
  const once = async <T>(work: () => Promise<T>): Promise<T> => {
    if (closed.aborted) throw new LogUnavailable(false);
    failure.signal.throwIfAborted();
    return await onceMore(work, canPass, BETWEEN_READS_MS);
  };
  const check = async (writes: readonly Stream[], timeoutMs = attemptTimeoutMs): Promise<void> => {
    await store.check({ writes, timeoutMs, known: perStream(knownLength) }).catch((error: unknown) => {
      throw error instanceof UnusableLog ? failure.found(error) : error;
    });
  };
  const length = async (stream: Stream): Promise<number> => {
    const before = knownLength(stream);
    const found = await once(() => store.length(stream));
    // Where records are hidden and not lost, the error says so.
    if (found < before) await check([]).catch((error: unknown) => { if (error instanceof UnusableLog) throw error; });
    return tails[stream].answered({ before, length: found });
  };
  return {
    once, check, length,
    /** The page of a follower whose record before it is `previous`. */
    page(stream: Stream, from: number, previous: string | undefined): Promise<readonly LogRecord[]> {
      const read = (first: number): Promise<LogRecord[]> => store.read(stream, first, PAGE_RECORDS);
      return from === 0 ? read(0) : readOverlapping({ stream, from, previous, failure, read, length: () => length(stream) });
    },
  };
}

/** Asks for the lengths until the time limit: a server that is starting answers with errors, and one that is not the leader names it. */
async function firstLengths(store: EventStore, timeoutMs: number): Promise<Record<Stream, number>> {
  const signal = AbortSignal.timeout(timeoutMs);
  let latest: unknown;
  const failed = (error: unknown): void => { latest = error; };
  const lengthOf = (stream: Stream): Promise<number> => retrying(
    () => store.length(stream, timeoutMs), { backoff: AT_THE_START, signal, canPass, failed });
  try {
    return { commands: await lengthOf('commands'), outcomes: await lengthOf('outcomes') };
  } catch (cause) {
    throw canPass(cause) ? new LogUnavailable(false, { cause: latest ?? cause }) : cause;
  }
}

/** Remembers for a while that the server refused an append, since no check can try every append. */
function createRefusal() {
  let latest: { readonly error: LogRefused; readonly untilMs: number } | undefined;
  return {
    /** What an attempt ended with; undefined when it was carried out. */
    tell(error: unknown): void {
      if (error === undefined) latest = undefined;
      else if (error instanceof LogRefused) latest = { error, untilMs: performance.now() + REFUSED_FOR_MS };
    },
    throwIfRecent(): void {
      if (latest !== undefined && performance.now() < latest.untilMs) throw latest.error;
    },
  };
}

/** An attempt at exactly one position, wherever it may be: the server has no other kind that is safe to repeat. */
function attemptsOf(store: EventStore, stream: Stream, records: readonly NewRecord[], refusal: ReturnType<typeof createRefusal>): AppendAttempt {
  return async ({ at, timeoutMs }) => {
    try {
      const { length, taken } = await store.append(stream, records, { at, timeoutMs });
      refusal.tell(undefined);
      return { first: taken ? TAKEN : at, length, written: !taken };
    } catch (error) {
      refusal.tell(error);
      throw new AttemptFailed(error, { maybeWritten: maybeWritten(error), canPass: canPass(error) });
    }
  };
}
