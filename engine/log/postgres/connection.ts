/**
 * One connection to Postgres that reconnects after a loss, for work that needs its own; and what everybody who works in
 * Postgres shares: settings in the URL, the row of a statement that always has one, and which errors pass.
 */
import pg from 'pg';
import { BrokenSequence } from '../log.js';

export type Client = pg.Client;

export interface Connection {
  /** The live client, or a new one. Throws when Postgres cannot be reached. */
  get(): Promise<pg.Client>;
  /** Forgets the client, even if it runs a query: the next get() makes a new connection. */
  drop(): void;
  /** Ends the client after its running query, also a client that is only being connected. */
  end(): Promise<void>;
}

export interface ConnectionOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  readonly connectTimeoutMs: number;
  /** Postgres cancels a statement after this time, so that an abandoned connection stops waiting for a lock. */
  readonly statementTimeoutMs: number;
  /** Runs on every new client before get() returns the client. */
  readonly prepare?: (client: pg.Client) => Promise<void>;
  /** Called when the connection of the current client is lost. */
  readonly lost?: () => void;
}

/**
 * The settings of all connections. Without them a generic plan made for a small table would later scan the whole large
 * table.
 */
export function clientConfig({ url, name, connectTimeoutMs, statementTimeoutMs }: ConnectionOptions): pg.ClientConfig {
  return {
    connectionString: url, application_name: name, connectionTimeoutMillis: connectTimeoutMs, keepAlive: true,
    options: `-c enable_seqscan=off -c enable_bitmapscan=off -c statement_timeout=${statementTimeoutMs}`,
  };
}

/** The URL with session settings added to its start-up options, so that every session has them from the start. */
export function withSettings(url: string, settings: readonly string[]): string {
  const target = new URL(url);
  const given = target.searchParams.get('options');
  const options = [...given === null ? [] : [given], ...settings.map((setting) => `-c ${setting}`)];
  target.searchParams.set('options', options.join(' '));
  return target.href;
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
      // While a query runs, end() closes the socket at once.
      void client?.end().catch(() => undefined);
    },
    async end() {
      const client = current ?? await connecting?.catch(() => undefined);
      current = undefined;
      await client?.end().catch(() => undefined);
    },
  };
}

/** Whether Postgres answered with a statement error: the statement was rolled back, and the connection is usable. */
export function isStatementError(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR';
}

/** The row of a statement that always returns one. */
export function soleRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new TypeError('a statement that always returns a row returned none');
  return row;
}

/** Whether Postgres refused a statement because its disk is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '53100';
}

/**
 * Whether the same work may succeed later: no connection, no resources, a conflict, a timeout, a server in recovery.
 */
export function canPass(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    const code = error.code ?? '';
    return ['08', '40', '53', '55', '57', '58'].includes(code.slice(0, 2)) || code === '25006';
  }
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof BrokenSequence);
}
