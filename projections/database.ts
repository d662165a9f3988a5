/** One Postgres session of a projection worker, and which of its failures pass by themselves. */
import pg from 'pg';
import type { Query, Statement } from './projection.js';

export interface Session {
  /** Statements that are not waited for go out at once and are carried out in the order of the calls. */
  readonly query: Query;
  /** Runs SQL without parameters, one statement or several. */
  run(sql: string): Promise<void>;
  /** Ends the session at once; what was not committed is rolled back. */
  close(): Promise<void>;
}

/** Opens a session whose unqualified names are in `schema`. Throws DatabaseUnavailable. */
export type OpenSession = (url: string, schema: string) => Promise<Session>;

/** Postgres cannot be reached or has broken off: whether the last statement, perhaps a COMMIT, was carried out is unknown. */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown) {
    super(`Postgres is not available: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'DatabaseUnavailable';
  }
}

/** The SQLSTATE behind an error of a session, where Postgres itself refused. */
export function sqlState(error: unknown): string | undefined {
  const cause = error instanceof DatabaseUnavailable ? error.cause : error;
  return cause instanceof pg.DatabaseError ? cause.code : undefined;
}

/** SQLSTATEs that pass: connection, deadlock, resources, lock timeout, operator, system; read-only, in a failover. */
const PASSING = /^(08|40|53|55P03$|57|58|25006$)/;

/**
 * Settings of a worker's session. Its statements reach rows by key only, so other plans are ruled out: one that was made while a
 * table was small would stay in use as it grows. Losing the last commits in a crash is harmless: the checkpoint goes with the
 * rows, and the log has the outcomes; so commits do not wait for the disk.
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
  // A connection that breaks while idle is noticed by the next query.
  client.on('error', () => undefined);
  await guarded(() => client.connect());
  return {
    query: <Row extends unknown[]>({ name, text }: Statement, values: readonly unknown[]) =>
      guarded(async () => (await client.query<Row>({ name, text, values: values as unknown[], rowMode: 'array' })).rows),
    run: (sql) => guarded(async () => { await client.query(sql); }),
    close: async () => {
      await client.end().catch(() => undefined);
    },
  };
};

/** Errors without an SQLSTATE come from the socket or from node-postgres about it. */
async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || PASSING.test(error.code ?? '08')) throw new DatabaseUnavailable(error);
    throw error;
  }
}

/** The URL with session settings added to its start-up options, so that no session is ever without them. */
function withSettings(url: string, settings: readonly string[]): string {
  const target = new URL(url);
  const given = target.searchParams.get('options');
  target.searchParams.set('options', [...given === null ? [] : [given], ...settings.map((setting) => `-c ${setting}`)].join(' '));
  return target.href;
}
