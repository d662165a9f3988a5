/** What makes a Postgres answer a commit before the commit is safe: what was acknowledged could be lost. */
import { createConnection } from './connection.js';

/** Settings of Postgres as they count in a session of the log's user in the log's database. */
export interface CommitSettings {
  readonly fsync: string;
  readonly synchronous_commit: string;
  readonly synchronous_standby_names: string;
}

const SETTINGS = `
select current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
  current_setting('synchronous_standby_names') as synchronous_standby_names`;

const TIMEOUT_MS = 10_000;

/**
 * What is unsafe about the settings, and what to do; empty when nothing is. Without synchronous standbys `local`,
 * `remote_write`, `on` and `remote_apply` are the same. With them `local` does not wait for them, so a failover to one
 * of them loses commits; `remote_write` loses some only if both machines fail at once.
 */
export function unsafeCommits({
  fsync, synchronous_commit: commit, synchronous_standby_names: standbys,
}: CommitSettings): readonly string[] {
  const where = 'where it is set (the configuration, the database, the user or the URL)';
  return [
    ...fsync === 'off' ? ['has fsync off, so a crash of its machine can lose or damage the whole log: set fsync on in its configuration'] : [],
    ...commit === 'off' ? [`has synchronous_commit off, so a crash loses orders that were acknowledged: set it on ${where}`] : [],
    ...commit === 'local' && standbys !== ''
      ? [`has synchronous_commit local, so a failover to one of its synchronous standbys loses orders that were acknowledged: set it on ${where}`]
      : [],
  ];
}

/**
 * What is unsafe about the commits of a session at the URL, like those that append. Rejects with the driver's errors
 * when Postgres cannot be reached.
 */
export async function unsafeCommitsAt(url: string): Promise<readonly string[]> {
  const connection = createConnection({
    url, name: 'prediction-exchange start', connectTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS,
  });
  try {
    const { rows: [settings] } = await (await connection.get()).query<CommitSettings>(SETTINGS);
    return settings === undefined ? [] : unsafeCommits(settings);
  } finally {
    await connection.end();
  }
}
