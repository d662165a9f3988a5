/** Asks a Postgres for its time: tells whether it answers, and how its clock differs from this process's. */
import { createConnection } from './connection.js';

export interface DatabaseProbe {
  /**
   * The database's time in milliseconds since the Unix epoch. Rejects when it does not answer within the time limit.
   */
  ask(): Promise<number>;
  close(): Promise<void>;
}

/** Uses one connection of its own, which is made at the first question and again after every failure. */
export function createDatabaseProbe({ url, timeoutMs }: {
  readonly url: string;
  readonly timeoutMs: number;
}): DatabaseProbe {
  const connection = createConnection({ url, name: 'probe', connectTimeoutMs: timeoutMs, statementTimeoutMs: timeoutMs });
  return {
    async ask() {
      try {
        const client = await connection.get();
        const query = { text: 'select extract(epoch from clock_timestamp()) * 1000', rowMode: 'array' as const, query_timeout: timeoutMs };
        const { rows } = await client.query<[string]>(query);
        return Number(rows[0]?.[0]);
      } catch (error) {
        connection.drop();
        throw isTimeout(error) ? new Error(`no answer within ${timeoutMs} ms`, { cause: error }) : error;
      }
    },
    close: () => connection.end(),
  };
}

/** The texts of node-postgres for its own time limits, of a connection and of a query; these errors have no code. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error
    && /^(timeout expired|Query read timeout|Connection terminated due to connection timeout)$/.test(error.message);
}
