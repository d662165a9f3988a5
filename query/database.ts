/** The query API's access to the read models: a pool of read-only Postgres sessions, and waiting for a log position. */
import pg from 'pg';
import { soleRow, withSettings } from '../engine/log/postgres/connection.js';
import { RequestError } from '../engine/records/errors.js';
import { followPositions, type Patience } from './following.js';
import { positionOf, PROJECTIONS, type RowSource, type Statement } from './statement.js';

export interface Database extends RowSource {
  /** The last log position that every read model includes; -1 while one of them is empty. */
  position(): Promise<number>;

  /**
   * Resolves once every read model includes this log position, so that any read after it is at `X-Log-Position` >=
   * position. Throws RequestError: `not_caught_up` after `timeoutMs` (default 2 s), `overloaded` when too many reads
   * already wait, `unavailable` when `signal` aborts or the database closes.
   */
  waitForPosition(position: number, patience?: Partial<Patience>): Promise<void>;

  close(): Promise<void>;
}

export interface ReadModelOptions {
  /** A Postgres connection URL. */
  readonly url: string;
  readonly schema?: string;
  readonly connections?: number;
  /** The longest time of one statement, and the longest wait for a connection. Default 5 s. */
  readonly statementTimeoutMs?: number;
  /** Called with every error of Postgres, for the log lines; clients get `unavailable`. */
  readonly onError?: (error: Error) => void;
  /** Called when the server turns out to be a standby, and when it is one no more. */
  readonly onStandby?: (isStandby: boolean) => void;
}

/** The role that may only read the read models. Sessions use it if the URL's user may take it. */
const READER = 'query_reader';

const READ_MODELS: Statement = { name: 'read_models_position', text: `select ${positionOf(PROJECTIONS)} as position` };

/**
 * SQLSTATEs of temporary errors: resources, statement timeout and shutdown, connection, tables not created yet, and
 * locks (a rebuild that swaps its tables in).
 */
const PASSING = /^(53|57|08|42P01$|3F000$|40|55P03$)/;

/**
 * SQLSTATEs of a read that had to give way: on a standby to what it replays (40001), or in a deadlock. The same read
 * succeeds at once.
 */
const GAVE_WAY = /^40/;

/**
 * Opens the read models of one database, which may be on a standby. Every session is read-only, and has the role
 * `query_reader` if the URL's user may take that role at the time of the call. So call it after the projections have
 * created the schema. Throws when Postgres cannot be reached.
 */
export async function openReadModels({
  url, schema = 'read_models', connections = 4, statementTimeoutMs = 5_000, onError = () => undefined, onStandby,
}: ReadModelOptions): Promise<Database> {
  const settings = [
    `search_path=${schema}`, 'default_transaction_read_only=on', `statement_timeout=${statementTimeoutMs}`, 'jit=off',
    ...await mayBeReader(url) ? [`role=${READER}`] : [],
  ];
  const target = withSettings(url, settings);
  const pool = new pg.Pool({
    connectionString: target, max: connections, connectionTimeoutMillis: statementTimeoutMs, idleTimeoutMillis: 0,
    // A Postgres that is stopped or cut off does not end its statements: then this process gives up.
    query_timeout: statementTimeoutMs + 1_000, keepAlive: true,
  });
  pool.on('error', onError);

  const rows = async <Row>({ name, text }: Statement, values: readonly unknown[]): Promise<Row[]> => {
    const read = async () => (await pool.query({
      ...name !== undefined && { name }, text, values: values as unknown[],
    })).rows as Row[];
    try {
      return await read().catch((error: unknown) => {
        if (error instanceof pg.DatabaseError && GAVE_WAY.test(error.code ?? '')) return read();
        throw error;
      });
    } catch (error) {
      if (error instanceof pg.DatabaseError && !PASSING.test(error.code ?? '')) throw error;
      onError(error as Error);
      throw new RequestError('unavailable', 'the read models cannot be reached');
    }
  };
  const position = async () => Number(soleRow(await rows<{ position: string }>(READ_MODELS, [])).position);
  const follower = followPositions({
    url, connectTimeoutMs: statementTimeoutMs, position, onError, ...onStandby && { onStandby },
  });
  return {
    rows, position,
    waitForPosition: (wanted, patience) => follower.wait(wanted, { timeoutMs: 2_000, ...patience }),
    close: async () => {
      await follower.close();
      await pool.end();
    },
  };
}

async function mayBeReader(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    // Since Postgres 16 a member may lack the right to take the role, as the user who has created it does at first.
    const text = `select from pg_roles where rolname = $1 and pg_has_role(current_user, oid, 'set')`;
    return (await client.query(text, [READER])).rowCount === 1;
  } finally {
    await client.end();
  }
}
