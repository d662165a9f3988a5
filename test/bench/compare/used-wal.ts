/**
 * Postgres reuses its WAL files: after an hour of work a commit writes to blocks that the disk has already. In a new cluster each commit
 * writes to new ones, and waits for the file system's journal, too.
 */
import pg from 'pg';

/** Beyond these, a benchmark meets new files again: 800 MB. */
const SEGMENTS = 50;

/** Leaves a new cluster with WAL files that have been used once. `url` is the superuser's. */
export async function useWal(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (let segment = 0; segment < SEGMENTS; segment++) {
    await client.query('select pg_logical_emit_message(false, \'bench\', \'\')');
    await client.query('select pg_switch_wal()');
  }
  // The second one may reuse all that was before the first one.
  await client.query('checkpoint');
  await client.query('checkpoint');
  await client.end();
}
