/** What a log in Postgres takes on disk: rows, index entries and what Postgres keeps beside them. */
import type pg from 'pg';
import { onDatabase } from '../support/sql.js';

/** The bytes that the work adds, after a checkpoint. */
export async function logBytesOf(url: string, work: () => Promise<void>): Promise<number> {
  return await onDatabase(url, async (client) => {
    const before = await logBytes(client);
    await work();
    await client.query('checkpoint');
    return await logBytes(client) - before;
  });
}

async function logBytes(client: pg.Client): Promise<number> {
  const { rows: [row] } = await client.query<{ bytes: string }>(
    `select sum(pg_total_relation_size(c.oid)) as bytes from pg_class c join pg_namespace n on n.oid = relnamespace where nspname = 'log' and relkind in ('r', 'p')`);
  return Number(row?.bytes);
}
