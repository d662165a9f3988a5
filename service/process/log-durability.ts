/** Refuses a Postgres for the log that answers a commit before the commit is safe: what was acknowledged could be lost. */
import { namesEventStore } from '../../engine/log/eventstore/url.js';
import { createConnection } from '../../engine/log/postgres/connection.js';
import { CannotStart } from '../../engine/cannot-start.js';
import type { Logger } from '../logger.js';
import { placeOf } from './database-waits.js';

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
 * What is unsafe about the settings, and what to do; empty when nothing is. Without synchronous standbys `local`, `remote_write`, `on` and
 * `remote_apply` are the same. With them `local` does not wait for them, so a failover to one of them loses commits; `remote_write` loses some
 * only if both machines fail at once.
 */
export function unsafeCommits({ fsync, synchronous_commit: commit, synchronous_standby_names: standbys }: CommitSettings): readonly string[] {
  const where = 'where it is set (the configuration, the database, the user or the URL)';
  return [
    ...fsync === 'off' ? ['has fsync off, so a crash of its machine can lose or damage the whole log: set fsync on in its configuration'] : [],
    ...commit === 'off' ? [`has synchronous_commit off, so a crash loses orders that were acknowledged: set it on ${where}`] : [],
    ...commit === 'local' && standbys !== ''
      ? [`has synchronous_commit local, so a failover to one of its synchronous standbys loses orders that were acknowledged: set it on ${where}`]
      : [],
  ];
}

export interface DurabilityCheck {
  /** The log's URL. */
  readonly url: string;
  /** The setting that names the database. */
  readonly setting: string;
  /** ALLOW_UNSAFE_POSTGRES. */
  readonly isAllowed: boolean;
  readonly logger: Logger;
}

/**
 * Throws CannotStart when the log's Postgres is unsafe, unless that is allowed; then the log lines tell. Asks in a session like those that
 * append. Rejects with the driver's errors when Postgres cannot be reached. A log in EventStoreDB is not asked.
 */
export async function checkDurability({ url, setting, isAllowed, logger }: DurabilityCheck): Promise<void> {
  if (namesEventStore(url)) return;
  const connection = createConnection({ url, name: 'prediction-exchange start', connectTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS });
  try {
    const { rows: [settings] } = await (await connection.get()).query<CommitSettings>(SETTINGS);
    const faults = settings === undefined ? [] : unsafeCommits(settings);
    if (faults.length === 0) return;
    const what = `the Postgres of the log (${setting}, ${placeOf(url)}) ${faults.join('; and it ')}`;
    if (!isAllowed) throw new CannotStart(`${what}; or set ALLOW_UNSAFE_POSTGRES=true where orders may be lost`, { hopeless: true });
    logger.warn(`${what}; ALLOW_UNSAFE_POSTGRES allows it`);
  } finally {
    await connection.end();
  }
}
