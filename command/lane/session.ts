/** A session with Postgres that holds locks, hears of changes and ends at its first failure: what a lane and its users write through. */
import pg from 'pg';
import { createBell, pause, within, type Bell } from '../../engine/waiting.js';
import { OutboxUnavailable } from './requests.js';
import { CREATE_SCHEMA, SQL } from './schema.js';

export interface SessionOptions {
  /** `postgresql://…`; a direct connection, since locks and LISTEN are the session's. */
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** Held from the beginning to the end of the session, taken in this order. */
  readonly locks: readonly string[];
  /** What is heard: notifications of this channel with this payload ring the bell. */
  readonly hears: Wake;
  readonly signal: AbortSignal;
  /** Called once when another session holds one of the locks. */
  readonly standingBy: () => void;
  /** How often a session that stands by tries again. Default 500 ms. */
  readonly standByMs?: number | undefined;
  /** After this time without an answer a statement is given up, and the session with it. Default 10 s. */
  readonly statementTimeoutMs?: number | undefined;
}

export interface Wake {
  readonly channel: 'lane_asked' | 'lane_told';
  readonly payload: string;
}

/** The locks are the session's: when it has ended, nothing more is written by it, and whoever holds them next finds what was written. */
export interface Session {
  readonly bell: Bell;
  /** Throws OutboxUnavailable once the session is known to have ended. */
  check(): void;
  /** Throws OutboxUnavailable and ends: after a failed statement nobody knows what is recorded before the locks are held anew. */
  query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /**
   * Tells other sessions that something has changed. In a transaction of its own and not waited for: Postgres lets transactions that
   * notify commit only one after the other, and a wake-up that is lost is made good by looking from time to time.
   */
  wake(wake: Wake): void;
  close(): Promise<void>;
}

/** Postgres lets go of the locks 25 s after this machine has vanished. */
const SETTINGS = ['synchronous_commit=on', 'tcp_keepalives_idle=10', 'tcp_keepalives_interval=5', 'tcp_keepalives_count=3'];
/** A session that does not say goodbye within this time is left to end by itself. */
const GOODBYE_MS = 2_000;

/** Resolves when the locks are held; makes schema `lane` where it is missing. Throws OutboxUnavailable, and the signal's reason. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { url, name, hears, signal, statementTimeoutMs = 10_000 } = options;
  const client = new pg.Client({
    connectionString: url, application_name: name, connectionTimeoutMillis: statementTimeoutMs, query_timeout: statementTimeoutMs,
    keepAlive: true, keepAliveInitialDelayMillis: 10_000,
    options: [`statement_timeout=${statementTimeoutMs}`, ...SETTINGS].map((setting) => `-c ${setting}`).join(' '),
  });
  const bell = createBell();
  let ended = false;
  // What is lost with a session is noticed at once: whoever waits looks again.
  client.on('error', () => undefined);
  client.on('end', () => {
    ended = true;
    bell.ring();
  });
  client.on('notification', ({ channel, payload }) => { if (channel === hears.channel && payload === hears.payload) bell.ring(); });
  try {
    await client.connect();
    const { rows: [schema] } = await client.query<{ there: boolean }>(SQL.hasSchema);
    if (schema?.there !== true) await client.query(CREATE_SCHEMA);
    await takeLocks(client, options);
    await client.query(`listen ${hears.channel}`);
    signal.throwIfAborted();
  } catch (error) {
    void end(client);
    if (signal.aborted) throw signal.reason;
    throw new OutboxUnavailable(error);
  }
  // One statement at a time: the driver gives up queueing them itself.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<Row[]> => {
    const turn = last.then(async () => (await client.query<Row>(text, [...values])).rows);
    last = turn.catch(() => undefined);
    return turn;
  };
  return {
    bell,
    check() {
      if (ended) throw new OutboxUnavailable('its session has ended');
    },
    async query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]) {
      try {
        return await inTurn<Row>(text, values);
      } catch (error) {
        void end(client);
        throw new OutboxUnavailable(error);
      }
    },
    wake({ channel, payload }) { inTurn(SQL.wake, [channel, payload]).catch(() => { void end(client); }); },
    close: () => end(client),
  };
}

async function takeLocks(client: pg.Client, { locks, signal, standingBy, standByMs = 500 }: SessionOptions): Promise<void> {
  let told = false;
  for (const name of locks) {
    while (!await tryLock(client, name)) {
      if (!told) standingBy();
      told = true;
      await pause(standByMs, signal);
      signal.throwIfAborted();
    }
  }
}

async function tryLock(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(SQL.lock, [name]);
  return rows[0]?.locked === true;
}

async function end(client: pg.Client): Promise<void> {
  await within(client.end().catch(() => undefined), GOODBYE_MS);
}
