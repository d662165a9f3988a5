/** One Postgres session of a projection worker, and which of its errors are temporary. */
import pg from 'pg';
import { withSettings } from '../engine/log/postgres/connection.js';
import type { Query, PreparedStatement } from './projection.js';

export interface Session {
  /** Sends a statement without waiting for earlier ones; Postgres runs them in the order of the calls. */
  readonly query: Query;
  /** Runs one or more SQL statements without parameters. */
  run(sql: string): Promise<void>;
  /** Ends the session at once; an open transaction is rolled back. */
  close(): Promise<void>;
}

/** Opens a session with `schema` as its search path. Throws DatabaseUnavailable. */
export type OpenSession = (url: string, schema: string) => Promise<Session>;

/**
 * Postgres cannot be reached, or the connection was lost. Whether the last statement, perhaps a COMMIT, was executed is
 * unknown.
 */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown) {
    super(`Postgres is not available: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'DatabaseUnavailable';
  }
}

/** The SQLSTATE of a session's error; undefined when the error did not come from Postgres. */
export function sqlState(error: unknown): string | undefined {
  const cause = error instanceof DatabaseUnavailable ? error.cause : error;
  return cause instanceof pg.DatabaseError ? cause.code : undefined;
}

/**
 * SQLSTATEs of temporary errors: connection, deadlock, resources, lock timeout, operator, system; read-only during a
 * failover.
 */
const PASSING = /^(08|40|53|55P03$|57|58|25006$)/;

/**
 * Settings of a worker's session. Its statements find rows by key only, so other plans are disabled: a plan that was
 * made for a small table would stay in use when the table grows. Commits do not wait for the disk. A crash may lose the
 * last commits without harm: the rows and their checkpoint are lost together, and the log has the outcomes.
 */
const SETTINGS = [
  'synchronous_commit=off', 'enable_seqscan=off', 'enable_hashjoin=off', 'enable_mergejoin=off', 'plan_cache_mode=force_generic_plan',
  'jit=off', 'default_transaction_isolation=read\\ committed',
];

export const openSession: OpenSession = async (url, schema) => {
  const client = new pg.Client({
    connectionString: withSettings(url, [`search_path=${schema}`, ...SETTINGS]), application_name: 'projections',
    keepAlive: true, keepAliveInitialDelayMillis: 10_000, connectionTimeoutMillis: 10_000, pipeline: true,
  });
  // When a connection is lost while idle, the next query reports the error.
  client.on('error', () => undefined);
  await guarded(() => client.connect());
  return {
    query: <Row extends unknown[]>({ name, text }: PreparedStatement, values: readonly unknown[]) =>
      guarded(async () => (await client.query<Row>({ name, text, values: values as unknown[], rowMode: 'array' })).rows),
    run: (sql) => guarded(async () => { await client.query(sql); }),
    close: async () => {
      await client.end().catch(() => undefined);
    },
  };
};

/**
 * Throws DatabaseUnavailable for temporary errors. Errors without an SQLSTATE come from the socket, so they are
 * temporary.
 */
async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || PASSING.test(error.code ?? '08')) throw new DatabaseUnavailable(error);
    throw error;
  }
}
