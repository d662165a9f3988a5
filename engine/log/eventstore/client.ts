/**
 * The EventStoreDB client, wrapped: what the log needs of it, with a time limit on every call, and around its known defects (version 6.2.1).
 *
 * - Appends with credentials of their own take the classic path. The other one, `batchAppend`, keeps one map for all clients of the process:
 *   an error of one rejects the appends of all, some never end, and there is no deadline.
 * - No call ends by itself when nothing comes back, so each has a limit here, and a client that was silent is replaced by a new one.
 * - An append that its own deadline or a cancel ends in the middle is half a batch to the server, well ended: appends are never cancelled.
 * - A read that is left early makes `dispose` wait for ever: it is cancelled, and read to its end.
 * - A cancelled read ends without an error, as if it had come to the end of the stream.
 * - A stream emits errors after its reader has left, which would end the process: each has a listener.
 * - A failed discovery of a cluster rejects a promise that nobody holds.
 * - `dispose` leaves the connection open.
 * - Clients of one process share a connection, so that the silence of one would be the silence of all: each has its own.
 */
import { readFileSync } from 'node:fs';
import {
  BACKWARDS, END, EventStoreDBClient, FORWARDS, NO_STREAM, START, WrongExpectedVersionError, binaryEvent,
  type ChannelCredentialOptions, type Credentials, type ReadStreamOptions, type ResolvedEvent, type StreamingRead,
} from '@eventstore/db-client';
import { within } from '../../waiting.js';
import { BrokenSequence, type LogRecord, type NewRecord, type Stream } from '../log.js';
import { isAnswer, isMissingStream, NoAnswer, NotSent } from './faults.js';
import { BadEventStoreUrl, type EventStoreAddress } from './url.js';

export interface EventStore {
  /**
   * Writes the records at exactly the position `at`, or finds their ids there. Otherwise returns the stream's length: other records are at
   * that position. Rejects with the client's errors, or with NotSent, see faults.ts.
   */
  append(stream: Stream, records: readonly NewRecord[], place: { at: number; timeoutMs: number }): Promise<{ length: number; taken: boolean }>;
  /** Records from `from` on, at most `limit` and about 4 MB; empty at the end of the stream. Rejects with BrokenSequence at a gap, too. */
  read(stream: Stream, from: number, limit: number): Promise<LogRecord[]>;
  /** `ms`: another time limit than that of the other reads. */
  length(stream: Stream, ms?: number): Promise<number>;
  /** The records from `from` on, present and future, until the signal aborts or the connection breaks. */
  subscribe(stream: Stream, from: number, signal: AbortSignal): AsyncIterable<LogRecord[]>;
  close(): Promise<void>;
}

type Asked = ReadStreamOptions & { readonly maxCount: number };
type Connection = ReturnType<typeof createConnection>;

const PAGE_BYTES = 4 * 1024 * 1024;
/** The most records that a subscription gives at once. */
const BATCH_RECORDS = 1_000;
const CLOSE_MS = 2_000;
/** Making a connection may take longer than a call over one that is there. */
export const LEAST_CONNECT_MS = 3_000;
/** The client's own. */
const KEEP_ALIVE_TIMEOUT_MS = 10_000;
/** A call that gRPC cancels ends its request first: of a batch on its way, the server would append the part that it has. */
const NEVER_MS = Number.MAX_SAFE_INTEGER;
/** Credentials select the classic append. A connection without TLS does not send them. */
const NOBODY: Credentials = { username: 'nobody', password: '' };

/** Throws BadEventStoreUrl when a file of the address cannot be read. Connects at the first call. `timeoutMs`: the limit of a read. */
export function connectEventStore(address: EventStoreAddress, { timeoutMs }: { readonly timeoutMs: number }): EventStore {
  const connection = createConnection(address);
  // Appends have a connection of their own: they do not wait behind pages, and a silent read does not end them.
  const appending = createConnection(address);
  let isConfirmed = false;
  let confirming: Promise<boolean> | undefined;
  const nameOf = (stream: Stream): string => `${address.streamPrefix}-${stream}`;
  const credentials = address.user === undefined ? NOBODY : { username: address.user.name, password: address.user.password };

  async function lengthOver(over: Connection, stream: Stream, ms: number): Promise<number> {
    const [last] = await readEvents(over, nameOf(stream), { direction: BACKWARDS, fromRevision: END, maxCount: 1 }, ms);
    return last === undefined ? 0 : last.position + 1;
  }

  /**
   * Before the first append, and after each failure: asks something harmless, so that what cannot be sent is known not to be written. The
   * question outlives the attempt that asked it, so that a connection that takes longer than an attempt comes about all the same.
   */
  async function confirm(stream: Stream, ms: number): Promise<void> {
    if (isConfirmed) return;
    confirming ??= lengthOver(appending, stream, Math.max(timeoutMs, LEAST_CONNECT_MS))
      .then(() => isConfirmed = true)
      .finally(() => { confirming = undefined; });
    const confirmed = await within(confirming, ms).catch((error: unknown) => { throw new NotSent(error); });
    if (confirmed === undefined) throw new NotSent(new NoAnswer(ms));
  }

  return {
    async append(stream, records, { at, timeoutMs: ms }) {
      const events = records.map(({ id, data }) => binaryEvent({ id, type: 'record', data }));
      const expectedRevision = at === 0 ? NO_STREAM : BigInt(at - 1);
      const last = at + records.length - 1;
      const endMs = performance.now() + ms;
      await confirm(stream, ms / 2);
      try {
        const { nextExpectedRevision } = await appending.answered(endMs - performance.now(), () => (
          appending.client().appendToStream(nameOf(stream), events, { expectedRevision, credentials, requiresLeader: true, deadline: NEVER_MS })));
        if (Number(nextExpectedRevision) !== last) throw new BrokenSequence(stream, last, Number(nextExpectedRevision));
        isConfirmed = true;
        return { length: last + 1, taken: false };
      } catch (error) {
        isConfirmed = isAnswer(error);
        if (!(error instanceof WrongExpectedVersionError)) throw error;
        const { actualVersion } = error;
        // Some servers do not tell the true revision; the place is taken all the same.
        const isTold = typeof actualVersion === 'bigint' && actualVersion >= 0n;
        return { length: isTold ? Number(actualVersion) + 1 : await lengthOver(appending, stream, ms), taken: true };
      }
    },
    async read(stream, from, limit) {
      if (limit <= 0) return [];
      const records = await readEvents(connection, nameOf(stream), { direction: FORWARDS, fromRevision: BigInt(from), maxCount: limit }, timeoutMs);
      for (const [i, { position }] of records.entries()) if (position !== from + i) throw new BrokenSequence(stream, from + i, position);
      return records;
    },
    length: (stream, ms = timeoutMs) => lengthOver(connection, stream, ms),
    subscribe: (stream, from, signal) => subscription(connection.client(), { name: nameOf(stream), from, signal }),
    close: async () => { await Promise.all([appending.close(), connection.close()]); },
  };
}

/** The events, read to the end of the answer; limited by the silence between two of them. */
async function readEvents(over: Connection, name: string, options: Asked, ms: number): Promise<LogRecord[]> {
  const client = over.client();
  const reading = client.readStream(name, { ...options, requiresLeader: true });
  const records = await over.answered(ms, (heard) => collect(reading, heard), () => { leave(reading); });
  // A read that ends with its client looks like one that has come to the stream's end.
  if (!over.isCurrent(client)) throw new NoAnswer(ms);
  return records;
}

/** One subscription. Always unsubscribed, since leaving its loop alone leaves the server's stream open. */
async function* subscription(client: EventStoreDBClient, { name, from, signal }: {
  name: string; from: number; signal: AbortSignal;
}): AsyncGenerator<LogRecord[]> {
  const subscribed = client.subscribeToStream(name, { fromRevision: from === 0 ? START : BigInt(from - 1), requiresLeader: true });
  subscribed.on('error', () => undefined);
  const stop = (): void => { void subscribed.unsubscribe().catch(() => undefined).then(() => { subscribed.destroy(); }); };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    let batch: LogRecord[] = [];
    for await (const resolved of subscribed) {
      batch.push(recordOf(resolved));
      if (subscribed.readableLength > 0 && batch.length < BATCH_RECORDS) continue;
      const full = batch;
      batch = [];
      yield full;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/** Reads a whole answer. When a page is full, the rest is cancelled and what is still on its way is dropped. */
async function collect(reading: StreamingRead<ResolvedEvent>, heard: () => void): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  let bytes = 0;
  reading.on('error', () => undefined);
  try {
    for await (const resolved of reading) {
      heard();
      if (bytes >= PAGE_BYTES) continue;
      const record = recordOf(resolved);
      records.push(record);
      bytes += record.data.length;
      if (bytes >= PAGE_BYTES) leave(reading);
    }
  } catch (error) {
    if (isMissingStream(error)) return [];
    throw error;
  }
  return records;
}

function leave(reading: StreamingRead<ResolvedEvent>): void {
  void reading.cancel().catch(() => undefined);
}

function recordOf({ event }: ResolvedEvent): LogRecord {
  if (event === undefined || !(event.data instanceof Uint8Array)) throw new TypeError('a stream of the log has an event that is not a record of it');
  const { id, revision, data: { buffer, byteOffset, byteLength } } = event;
  return { position: Number(revision), id, data: Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength) };
}

/** The client in use. A client that was silent is replaced: what it runs ends, and the next call connects anew. */
function createConnection(address: EventStoreAddress) {
  const credentials = channelCredentialsOf(address);
  let current: EventStoreDBClient | undefined;

  function drop(): void {
    const client = current;
    current = undefined;
    if (client !== undefined) void end(client);
  }

  return {
    client: () => current ??= newClient(address, credentials),
    /** False when the client has been given up: another call over it was not answered, or the log was closed. */
    isCurrent: (client: EventStoreDBClient) => client === current,
    /** The work's result. Rejects with NoAnswer when nothing was heard for `timeoutMs`; then `leave` is called, and the work goes on. */
    async answered<T>(timeoutMs: number, work: (heard: () => void) => Promise<T>, leaving: () => void = () => undefined): Promise<T> {
      let timer: NodeJS.Timeout | undefined;
      const silence = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => {
          reject(new NoAnswer(timeoutMs));
          leaving();
          drop();
        }, timeoutMs);
      });
      try {
        return await Promise.race([work(() => { timer?.refresh(); }), silence]);
      } finally {
        clearTimeout(timer);
      }
    },
    async close(): Promise<void> {
      const client = current;
      current = undefined;
      if (client !== undefined) await within(end(client), CLOSE_MS);
    },
  };
}

/** Parts of the client that its types hide. */
interface Inside {
  handleError: (...given: unknown[]) => Promise<void>;
  getChannel: () => Promise<{ close(): void }>;
}

function newClient({ nodes, discover, user }: EventStoreAddress, credentials: ChannelCredentialOptions): EventStoreDBClient {
  const endpoints = nodes.map(({ host, port }) => ({ address: host, port }));
  const [endpoint] = endpoints;
  if (endpoint === undefined) throw new TypeError('an EventStoreDB without a node');
  const login = user === undefined ? undefined : { username: user.name, password: user.password };
  // Clients with the same settings share one connection, also a dead one, and across the whole process: this one has settings of its own.
  const keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS + Math.random();
  const client = !discover
    ? new EventStoreDBClient({ endpoint, keepAliveTimeout }, credentials, login)
    : endpoints.length === 1
      ? new EventStoreDBClient({ discover: endpoint, keepAliveTimeout }, credentials, login)
      : new EventStoreDBClient({ endpoints, keepAliveTimeout }, credentials, login);
  const inside = client as unknown as Inside;
  const handleError = inside.handleError;
  inside.handleError = (...given) => handleError(...given).catch(() => undefined);
  return client;
}

function channelCredentialsOf({ tls, tlsCAFile, userCertFile, userKeyFile }: EventStoreAddress): ChannelCredentialOptions {
  if (!tls) return { insecure: true };
  return {
    ...tlsCAFile === undefined ? {} : { rootCertificate: fileOf('tlsCAFile', tlsCAFile) },
    ...userCertFile === undefined || userKeyFile === undefined
      ? {}
      : { userCertFile: fileOf('userCertFile', userCertFile), userKeyFile: fileOf('userKeyFile', userKeyFile) },
  };
}

function fileOf(option: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new BadEventStoreUrl(`the file of ${option} (${path}) cannot be read (${(error as NodeJS.ErrnoException).code ?? ''})`);
  }
}

async function end(client: EventStoreDBClient): Promise<void> {
  try {
    await client.dispose();
    (await (client as unknown as Inside).getChannel()).close();
  } catch {
    // It had no connection.
  }
}
