/**
 * A Postgres session of a worker on the outbox's database: it holds locks, receives notifications, and ends at the
 * first failed statement.
 */
import pg from 'pg';
import type { StandBy } from '../../engine/reactor.js';
import { createBell, pause, within, type Bell } from '../../engine/waiting.js';
import { OutboxUnavailable } from './requests.js';
import { CREATE_SCHEMA, SQL } from './schema.js';

export interface OutboxSessionOptions extends StandBy {
  /** `postgresql://…`; a direct connection, since locks and LISTEN are the session's. */
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** Advisory locks, taken in this order and held until the session ends. */
  readonly locks: readonly string[];
  /** Made when it is missing. Default: schema `lane`. */
  readonly schema?: Schema;
  /** Notifications of this channel with this payload ring the bell; absent: none does. */
  readonly hears?: Wake;
  /** Whether commits wait for the disk. Default true; false only for rows that can be made again. */
  readonly durable?: boolean;
  /** How often a standby session tries to take the lock. Default 500 ms. */
  readonly standByMs?: number | undefined;
  /** The time limit of a statement; the session ends when a statement takes longer. Default 10 s. */
  readonly statementTimeoutMs?: number | undefined;
}

/**
 * The statements of a schema: `isThere` gives one row with the boolean `there`; `create` may run while another process
 * runs it.
 */
export interface Schema {
  readonly isThere: string;
  readonly create: string;
}

export interface Wake {
  readonly channel: 'lane_asked' | 'lane_told';
  readonly payload: string;
}

/**
 * The locks belong to the session. Once it has ended it writes nothing more, so the next holder sees everything that it
 * wrote.
 */
export interface OutboxSession {
  readonly bell: Bell;
  /** Throws OutboxUnavailable once the session is known to have ended. */
  check(): void;
  /**
   * Throws OutboxUnavailable and ends the session on failure: what the statement wrote is known only once the locks are
   * held again.
   */
  query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /**
   * Notifies other sessions of a change, in its own transaction and without waiting for it: Postgres commits
   * transactions with NOTIFY one after the other. A lost wake-up does no harm, since listeners also look from time to
   * time.
   */
  wake(wake: Wake): void;
  close(): Promise<void>;
}

/** With these settings, Postgres releases the locks 25 s after this machine disappears. */
const SETTINGS = ['tcp_keepalives_idle=10', 'tcp_keepalives_interval=5', 'tcp_keepalives_count=3'];
const LANE: Schema = { isThere: SQL.hasSchema, create: CREATE_SCHEMA };
/** How long to wait for the connection to close. */
const GOODBYE_MS = 2_000;

/**
 * Resolves when the locks are held; creates the schema when it is missing. Throws OutboxUnavailable, and the signal's
 * reason.
 */
export async function openSession(options: OutboxSessionOptions): Promise<OutboxSession> {
  const { url, name, schema = LANE, hears, durable = true, signal, statementTimeoutMs = 10_000 } = options;
  const client = new pg.Client({
    connectionString: url, application_name: name, connectionTimeoutMillis: statementTimeoutMs,
    query_timeout: statementTimeoutMs,
    keepAlive: true, keepAliveInitialDelayMillis: 10_000,
    options: [`statement_timeout=${statementTimeoutMs}`, `synchronous_commit=${durable ? 'on' : 'off'}`, ...SETTINGS].map((setting) => `-c ${setting}`).join(' '),
  });
  const bell = createBell();
  let ended = false;
  // When the session ends, the bell rings, so that a waiting caller looks again at once.
  client.on('error', () => undefined);
  client.on('end', () => {
    ended = true;
    bell.ring();
  });
  client.on('notification', ({ channel, payload }) => { if (channel === hears?.channel && payload === hears.payload) bell.ring(); });
  try {
    await client.connect();
    const { rows: [made] } = await client.query<{ there: boolean }>(schema.isThere);
    if (made?.there !== true) await client.query(schema.create);
    await takeLocks(client, options);
    if (hears !== undefined) await client.query(`listen ${hears.channel}`);
    signal.throwIfAborted();
  } catch (error) {
    void end(client);
    if (signal.aborted) throw signal.reason;
    throw new OutboxUnavailable(error);
  }
  // One statement at a time: the driver will not queue them itself in future versions.
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

async function takeLocks(
  client: pg.Client, { locks, signal, standingBy, standByMs = 500 }: OutboxSessionOptions,
): Promise<void> {
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
