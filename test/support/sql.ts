/** SQL on a connection of its own, in whichever Postgres. */
import pg from 'pg';

/** The rows of one statement. */
export function runSql<Row extends pg.QueryResultRow>(url: string, sql: string, values: readonly unknown[] = []): Promise<Row[]> {
  return onDatabase(url, async (client) => {
    // A killed server ends the connection before end() does.
    client.on('error', () => undefined);
    return (await client.query<Row>(sql, [...values])).rows;
  });
}

export async function onDatabase<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
