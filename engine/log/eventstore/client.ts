/**
 * The EventStoreDB client, wrapped: what the log needs of it. What is wrong with the client (version 6.2.1) is in
 * connection.ts and reads.ts, and here: an append that its own deadline or a cancel ends in the middle is half a batch
 * to the server, well ended, so appends are never cancelled.
 */
import { FORWARDS, NO_STREAM, WrongExpectedVersionError, binaryEvent } from '@eventstore/db-client';
import { retrying, within } from '../../waiting.js';
import { BrokenSequence, MAX_APPEND_BYTES, MAX_APPEND_RECORDS, type LogRecord, type NewRecord, type Stream } from '../log.js';
import { checkAppend, checkHistory, RECORD_TYPE } from './check.js';
import { createConnection, type EventStoreConnection } from './connection.js';
import { canPass, explained, isAnswer, NoAnswer, NotSent, type StreamPlace } from './faults.js';
import { readEvents, readLength, subscription } from './reads.js';
import type { EventStoreAddress } from './url.js';

export interface EventStore {
  /**
   * Writes the records at exactly the position `at`, or finds their ids there. Otherwise returns the stream's length:
   * other records are at that position. Rejects with the client's errors, with NotSent, see faults.ts, or with
   * BrokenSequence.
   */
  append(
    stream: Stream, records: readonly NewRecord[], place: { at: number; timeoutMs: number }
  ): Promise<{ length: number; taken: boolean }>;
  /**
   * Records from `from` on, at most `limit` and about 4 MB; empty at the end of the stream. Rejects with BrokenSequence
   * at a gap, too.
   */
  read(stream: Stream, from: number, limit: number): Promise<LogRecord[]>;
  /** `ms`: another time limit than that of the other reads. */
  length(stream: Stream, ms?: number): Promise<number>;
  /** The records from `from` on, present and future, until the signal aborts or the connection breaks. */
  subscribe(stream: Stream, from: number, signal: AbortSignal): AsyncIterable<LogRecord[]>;
  /**
   * As Log.check. Gives up the other connections, too, when the server has become silent, or can be reached again by
   * new ones only.
   */
  check(question: StoreQuestion): Promise<void>;
  close(): Promise<void>;
}

export interface StoreQuestion {
  readonly writes: readonly Stream[];
  readonly timeoutMs: number;
  /** Lengths that the streams have had. */
  readonly known: Readonly<Record<Stream, number>>;
}

export interface EventStoreOptions {
  /** The limit of a read. */
  readonly timeoutMs: number;
  /** Called when a connection works again after another one has broken or was given up. */
  readonly restored?: () => void;
}

const STREAMS: readonly Stream[] = ['commands', 'outcomes'];
/** Making a connection may take longer than a call over one that is there. */
export const LEAST_CONNECT_MS = 3_000;
const RECONNECTING = { firstMs: 20, longestMs: 200 };
/**
 * A call that gRPC cancels ends its request first: of a batch on its way, the server would append the part that it has.
 */
const NEVER_MS = Number.MAX_SAFE_INTEGER;
/** What the largest append counts for the server: its data, and each event's type in two bytes a letter. */
const LARGEST_APPEND_BYTES = MAX_APPEND_BYTES + 2 * RECORD_TYPE.length * MAX_APPEND_RECORDS;

/** Throws BadEventStoreUrl when a file of the address cannot be read. Connects at the first call. */
export function connectEventStore(
  address: EventStoreAddress, { timeoutMs, restored = () => undefined }: EventStoreOptions,
): EventStore {
  const closing = new AbortController();
  const placeOf = (stream: Stream): StreamPlace => ({ stream, name: `${address.streamPrefix}-${stream}` });
  const connections = connect(address, restored);
  const { reading, appending, asking } = connections;
  const checks = createChecks(connections, placeOf, timeoutMs);
  const confirmed = confirmation(appending, {
    signal: closing.signal,
    ask: (stream) => readLength(appending, placeOf(stream), Math.max(timeoutMs, LEAST_CONNECT_MS)),
  });

  return {
    async append(stream, records, { at, timeoutMs: ms }) {
      const events = records.map(({ id, data }) => binaryEvent({ id, type: RECORD_TYPE, data }));
      const expectedRevision = at === 0 ? NO_STREAM : BigInt(at - 1);
      const last = at + records.length - 1;
      const endMs = performance.now() + ms;
      const place = placeOf(stream);
      await confirmed.ensure(stream, ms / 2);
      try {
        const { nextExpectedRevision } = await appending.answered(endMs - performance.now(), (client) => (
          client.appendToStream(place.name, events, { expectedRevision, requiresLeader: true, deadline: NEVER_MS })));
        if (Number(nextExpectedRevision) === last) return { length: last + 1, taken: false };
        throw await checks.whyBroken(new BrokenSequence(stream, last, Number(nextExpectedRevision)), stream);
      } catch (error) {
        if (!isAnswer(error)) confirmed.lost();
        if (!(error instanceof WrongExpectedVersionError)) throw explained(error, place, 'append');
        const { actualVersion } = error;
        // Some servers do not tell the true revision; the place is taken all the same.
        const isTold = typeof actualVersion === 'bigint' && actualVersion >= 0n;
        return { length: isTold ? Number(actualVersion) + 1 : await readLength(appending, place, ms), taken: true };
      }
    },
    async read(stream, from, limit) {
      if (limit <= 0) return [];
      const records = await readEvents(
        reading, placeOf(stream), { direction: FORWARDS, fromRevision: BigInt(from), maxCount: limit }, timeoutMs,
      );
      for (const [i, { position }] of records.entries()) {
        if (position !== from + i) throw await checks.whyBroken(new BrokenSequence(stream, from + i, position), stream);
      }
      return records;
    },
    length: (stream, ms = timeoutMs) => readLength(reading, placeOf(stream), ms),
    subscribe: (stream, from, signal) => subscription(reading, { place: placeOf(stream), from, signal }),
    check: checks.all,
    async close() {
      closing.abort();
      await Promise.all([asking, appending, reading].map((each) => each.close()));
    },
  };
}

interface Connections {
  readonly reading: EventStoreConnection;
  /** Appends have a connection of their own: they do not wait behind pages, and a silent read does not end them. */
  readonly appending: EventStoreConnection;
  /** Questions wait behind neither, so that their silence is the server's. */
  readonly asking: EventStoreConnection;
  /** What the connections know of each other; times are those of `performance.now()`. */
  readonly state: { askedMs: number; hasTakenLargest: boolean };
}

function connect(address: EventStoreAddress, restored: () => void): Connections {
  const state = { askedMs: 0, hasTakenLargest: false };
  const reading = createConnection(address, restored);
  const appending = createConnection(address, () => {
    // Another server, or the same one with another configuration, may be there now.
    state.hasTakenLargest = false;
    restored();
  });
  const asking = createConnection(address, () => {
    for (const each of [reading, appending]) each.dropIfWaitingSince(state.askedMs);
    restored();
  });
  return { reading, appending, asking, state };
}

/** See check.ts. `timeoutMs`: the limit of an append, and of questions beside those of a check. */
function createChecks(
  { reading, appending, asking, state }: Connections, placeOf: (stream: Stream) => StreamPlace, timeoutMs: number,
) {
  let checkingAppends: Promise<true> | undefined;

  async function checkAppends(writes: readonly Stream[]): Promise<true> {
    const question = (stream: Stream) => ({ over: appending, reading: asking, place: placeOf(stream), timeoutMs });
    for (const stream of writes) await checkAppend(question(stream), 0);
    const [first] = writes;
    if (state.hasTakenLargest || first === undefined) return true;
    await checkAppend(question(first), LARGEST_APPEND_BYTES);
    return state.hasTakenLargest = true;
  }

  return {
    async all({ writes, known, timeoutMs: ms }: StoreQuestion): Promise<void> {
      state.askedMs = performance.now();
      await Promise.all(STREAMS.map((stream) => (
        checkHistory({ over: asking, place: placeOf(stream), timeoutMs: ms }, known[stream]))))
        .catch((error: unknown) => {
          if (error instanceof NoAnswer) for (const each of [reading, appending]) each.dropIfSilentSince(state.askedMs);
          throw error;
        });
      if (writes.length === 0) return;
      // The question waits behind a batch on a slow line: the connection is given up no sooner than an append would
      // give it up.
      checkingAppends ??= checkAppends(writes).finally(() => { checkingAppends = undefined; });
      if (await within(checkingAppends, ms) === undefined) throw new NoAnswer(ms);
    },
    /** Why a position does not follow, if the server tells it. */
    async whyBroken(broken: BrokenSequence, stream: Stream): Promise<BrokenSequence> {
      return await checkHistory(
        { over: asking, place: placeOf(stream), timeoutMs }, 0,
      ).then(() => broken, (error: unknown) => (
        error instanceof BrokenSequence ? error : broken));
    },
  };
}

/**
 * Before the first append over a client, and after each failure, asks something harmless, so that what cannot be sent
 * is known not to be written. The question is repeated until it is answered, and outlives the attempt that asked it, so
 * that a connection that takes longer than an attempt comes about all the same, and a server that is back is noticed at
 * once.
 */
function confirmation(
  over: EventStoreConnection,
  { ask, signal }: { readonly ask: (stream: Stream) => Promise<unknown>; readonly signal: AbortSignal },
) {
  let confirmed: ReturnType<EventStoreConnection['client']> | undefined;
  let confirming: Promise<boolean> | undefined;
  let latest: unknown;

  return {
    lost(): void { confirmed = undefined; },
    /** Rejects with NotSent when the answer does not come in time. */
    async ensure(stream: Stream, ms: number): Promise<void> {
      if (confirmed !== undefined && over.isCurrent(confirmed)) return;
      confirming ??= retrying(
        () => ask(stream), { backoff: RECONNECTING, signal, canPass, failed(error) { latest = error; } },
      )
        .then(() => {
          confirmed = over.client();
          latest = undefined;
          return true;
        })
        .finally(() => { confirming = undefined; });
      confirming.catch(() => undefined);
      const answered = await within(confirming, ms).catch((error: unknown) => { throw new NotSent(error); });
      if (answered === undefined) throw new NotSent(latest ?? new NoAnswer(ms));
    },
  };
}
