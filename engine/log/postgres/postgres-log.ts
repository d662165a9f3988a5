/**
 * The log in Postgres, the embedded default. Positions have no gaps, however many processes append at the same time.
 */
import pg from 'pg';
import { checkAppend, checkPosition, createAppender } from '../appender.js';
import {
  createHandleFailure, readOverlapping, createTail, PAGE_RECORDS, type HandleFailure, type ReadPage, type Tail,
} from '../tail.js';
import { BrokenSequence, LogUnavailable, type Log, type LogOptions, type LogRecord, type Stream } from '../log.js';
import { onceMore, readingAhead, readUntilAborted } from '../reading.js';
import { attemptsOf, readPage } from './records.js';
import { createChannel, type NotifyChannel } from './channel.js';
import { canPass, clientConfig, createConnection, soleRow, type ConnectionOptions } from './connection.js';
import { CHANNEL, CREATE_SCHEMA, LENGTH, MAY_CREATE, STREAM_NUMBERS } from './schema.js';
import { askServer, UnsupportedPostgres, versionFault } from './server.js';

export interface PostgresLogOptions extends LogOptions {
  /** `postgresql://…`; must be a direct connection, because LISTEN does not work through a transaction pooler. */
  readonly url: string;
}

const STREAMS: readonly Stream[] = ['commands', 'outcomes'];
const READ_CONNECTIONS = 4;

/**
 * Opens the log and creates its missing tables; on a standby the log can be read and followed, and every append fails.
 * Throws LogUnavailable when Postgres cannot be reached or the log is not there yet, UnsupportedPostgres when the
 * server is too old.
 */
export async function openPostgresLog(options: PostgresLogOptions): Promise<Log> {
  const { url, unknownAfterMs = 30_000, attemptTimeoutMs = 10_000, pollMs = 1_000 } = options;
  const connectionOptions = (name: string): ConnectionOptions => (
    { url, name: `log ${name}`, connectTimeoutMs: attemptTimeoutMs, statementTimeoutMs: attemptTimeoutMs });
  await createSchema(connectionOptions('schema'));
  const pool = new pg.Pool({
    ...clientConfig(connectionOptions('read')), max: READ_CONNECTIONS, query_timeout: attemptTimeoutMs, allowExitOnIdle: true,
  });
  pool.on('error', () => undefined);
  // pg.Pool handles errors of idle clients only. The error of a busy client rejects its query, and the client emits it
  // as well.
  pool.on('connect', (client) => { client.on('error', () => undefined); });
  const closed = new AbortController();
  const failure = createHandleFailure(options.failed);

  const perStream = async <T>(make: (stream: Stream) => T | Promise<T>): Promise<Record<Stream, T>> => (
    { commands: await make('commands'), outcomes: await make('outcomes') });
  const tails = await perStream(async (stream) => (
    createTail({ stream, pollMs, failure, ...await onceMore(() => lengthOf(pool, stream), canPass) })));
  const signals = createSignals({
    connection: connectionOptions('signals'),
    grown: (stream, length) => { tails[stream].grown(length); },
    connected: () => { for (const stream of STREAMS) tails[stream].check(); },
  });
  const connections = await perStream((stream) => createConnection(connectionOptions(`append ${stream}`)));
  const appenders = await perStream((stream) => createAppender({
    stream, unknownAfterMs, attemptTimeoutMs,
    attemptsOf: (records) => attemptsOf(stream, connections[stream], records),
    length: tails[stream].length, newest: tails[stream].newest, failure,
    appended({ first, records, length, written }) {
      // A batch that was already stored keeps its stored bytes: followers read them from the store.
      if (written) tails[stream].push(first, records);
      else tails[stream].grown(length);
      signals.announce(stream, length);
    },
  }));

  const reader = createReader({ pool, tails, failure });
  return {
    async append(stream, records, expected) {
      checkAppend(records, expected);
      return await appenders[stream].append(records, expected);
    },
    read: reader.read,
    length: reader.length,
    follow(stream, from, signal) {
      checkPosition(from);
      signals.hear();
      const ended = AbortSignal.any([signal, closed.signal]);
      const read: ReadPage = (next, previous) => readUntilAborted(
        () => reader.pageAfter(stream, next, previous), ended, canPass,
      );
      return tails[stream].follow(from, ended, readingAhead(read, tails[stream].length));
    },
    async close() {
      closed.abort();
      await Promise.all(STREAMS.map(async (stream) => {
        await appenders[stream].close();
        await connections[stream].end();
      }));
      await signals.close();
      if (!pool.ended) await pool.end();
    },
  };
}

/** Reads that compare what they get with what the handle knows. */
function createReader({ pool, tails, failure }: {
  pool: pg.Pool;
  tails: Readonly<Record<Stream, Tail>>;
  failure: HandleFailure;
}) {
  async function length(stream: Stream): Promise<number> {
    failure.signal.throwIfAborted();
    const before = tails[stream].length();
    return tails[stream].answered({ before, ...await onceMore(() => lengthOf(pool, stream), canPass) });
  }
  return {
    length,
    async read(stream: Stream, from: number, limit: number): Promise<LogRecord[]> {
      checkPosition(from);
      failure.signal.throwIfAborted();
      const before = tails[stream].length();
      const records = await onceMore(
        () => readPage(pool, stream, { from, limit: Math.min(limit, PAGE_RECORDS) }), canPass,
      );
      tails[stream].seen(from, records);
      if (records.length === 0 && limit > 0 && from < before) {
        throw new BrokenSequence(stream, from, await length(stream));
      }
      return records;
    },
    /** As ReadPage: the data of the record before is left out. */
    pageAfter(stream: Stream, from: number, previous: string | undefined): Promise<readonly LogRecord[]> {
      const read = (first: number) => readPage(pool, stream, { from: first, limit: PAGE_RECORDS, dataFrom: from });
      return from === 0
        ? read(0)
        : readOverlapping({ stream, from, previous, failure, read, length: () => length(stream) });
    },
  };
}

async function createSchema(options: ConnectionOptions): Promise<void> {
  const client = new pg.Client(clientConfig(options));
  client.on('error', () => undefined);
  try {
    await client.connect();
    const server = await askServer(client);
    const fault = versionFault(server);
    if (fault !== undefined) throw new UnsupportedPostgres(`the Postgres of the log ${fault}`);
    // Who may only read cannot make the log, and nobody can on a standby: somebody else does. Until then it may not
    // even be seen.
    const { rows: [may] } = await client.query<{ create: boolean }>(MAY_CREATE);
    if (may?.create === true && !server.isStandby) await client.query(CREATE_SCHEMA);
    else await client.query(
      LENGTH, [STREAM_NUMBERS.commands],
    ).catch((cause: unknown) => { throw new LogUnavailable(false, { cause }); });
  } catch (cause) {
    if (cause instanceof LogUnavailable || cause instanceof UnsupportedPostgres) throw cause;
    throw canPass(cause) ? new LogUnavailable(false, { cause }) : cause;
  } finally {
    void client.end().catch(() => undefined);
  }
}

async function lengthOf(pool: pg.Pool, stream: Stream): Promise<{
  readonly length: number;
  readonly isStandby: boolean;
}> {
  const query = { name: 'log_length', text: LENGTH, values: [STREAM_NUMBERS[stream]], rowMode: 'array' as const };
  const { rows } = await pool.query<[length: string, isStandby: boolean]>(query);
  const [length, isStandby] = soleRow(rows);
  return { length: Number(length), isStandby };
}

export interface Signals extends Pick<NotifyChannel, 'hear' | 'close'> {
  /** Tells the other processes, at once or BETWEEN_MESSAGES_MS after the last message. */
  announce(stream: Stream, length: number): void;
}

export interface SignalsOptions {
  readonly connection: Omit<ConnectionOptions, 'prepare' | 'lost'>;
  readonly grown: (stream: Stream, length: number) => void;
  /** Called after every connection, the first one and each new one: messages may have been lost before. */
  readonly connected: () => void;
}

const MESSAGE = /^(commands|outcomes) (\d{1,16})$/;

/** One message per append would make appends of small batches a third slower. */
const BETWEEN_MESSAGES_MS = 10;

export function createSignals({ connection, grown, connected }: SignalsOptions): Signals {
  const { hear, tell, close } = createChannel({
    ...connection, channel: CHANNEL, connected, betweenMs: BETWEEN_MESSAGES_MS,
    backoff: { firstMs: 20, longestMs: 2_000 },
    heard(text) {
      const match = MESSAGE.exec(text);
      if (match !== null) grown(match[1] as Stream, Number(match[2]));
    },
  });
  return { hear, close, announce: (stream, length) => { void tell(`${stream} ${length}`, stream); } };
}
