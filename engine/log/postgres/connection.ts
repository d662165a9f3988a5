/** One connection to Postgres that is made anew when it is lost: for work that needs a connection of its own. */
import pg from 'pg';
import { BrokenSequence } from '../log.js';

export interface Connection {
  /** The live client, or a new one. Throws when Postgres cannot be reached. */
  get(): Promise<pg.Client>;
  /** Forgets the client, whatever it is doing: the next get() connects anew. */
  drop(): void;
  /** Ends the client after what it is doing. */
  end(): Promise<void>;
}

export interface ConnectionOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  readonly connectTimeoutMs: number;
  /** Postgres gives up a statement after this time, so that an abandoned connection does not keep waiting for a lock. */
  readonly statementTimeoutMs: number;
  /** Runs on every new client before anybody gets it. */
  readonly prepare?: (client: pg.Client) => Promise<void>;
  /** Called when a client that was in use is gone. */
  readonly lost?: () => void;
}

/** The settings of all connections: with a generic plan made while the table was small, Postgres would later scan all of it. */
export function clientConfig({ url, name, connectTimeoutMs, statementTimeoutMs }: ConnectionOptions): pg.ClientConfig {
  return {
    connectionString: url, application_name: name, connectionTimeoutMillis: connectTimeoutMs, keepAlive: true,
    options: `-c enable_seqscan=off -c enable_bitmapscan=off -c statement_timeout=${statementTimeoutMs}`,
  };
}

export function createConnection(options: ConnectionOptions): Connection {
  let current: pg.Client | undefined;
  let connecting: Promise<pg.Client> | undefined;

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client(clientConfig(options));
    const gone = (): void => {
      if (current !== client) return;
      current = undefined;
      options.lost?.();
    };
    client.on('error', gone);
    client.on('end', gone);
    try {
      await client.connect();
      await options.prepare?.(client);
    } catch (error) {
      void client.end().catch(() => undefined);
      throw error;
    }
    current = client;
    return client;
  }

  return {
    get: async () => current ?? await (connecting ??= connect().finally(() => { connecting = undefined; })),
    drop() {
      const client = current;
      current = undefined;
      // While a query runs, end() cuts the connection at once.
      void client?.end().catch(() => undefined);
    },
    async end() {
      const client = current;
      current = undefined;
      await client?.end().catch(() => undefined);
    },
  };
}

/** Postgres answered with an error of the statement: it was rolled back, and the connection lives on. */
export function isStatementError(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR';
}

/** Whether the same may succeed a little later: no connection, no resources, a conflict, a timeout, a server in recovery. */
export function canPass(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    const code = error.code ?? '';
    return ['08', '40', '53', '55', '57', '58'].includes(code.slice(0, 2)) || code === '25006';
  }
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof BrokenSequence);
}
