/**
 * Refuses a Postgres for the log that answers a commit before the commit is safe: what was acknowledged could be lost.
 */
import { CannotStart } from '../../engine/cannot-start.js';
import { namesEventStore } from '../../engine/log/eventstore/url.js';
import { unsafeCommitsAt } from '../../engine/log/postgres/durability.js';
import type { Logger } from '../logger.js';
import { placeOf } from './database-waits.js';

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
 * Throws CannotStart when the log's Postgres is unsafe, unless that is allowed; then the log lines tell. Rejects with
 * the driver's errors when Postgres cannot be reached. A log in EventStoreDB is not asked.
 */
export async function checkDurability({ url, setting, isAllowed, logger }: DurabilityCheck): Promise<void> {
  if (namesEventStore(url)) return;
  const faults = await unsafeCommitsAt(url);
  if (faults.length === 0) return;
  const what = `the Postgres of the log (${setting}, ${placeOf(url)}) ${faults.join('; and it ')}`;
  if (!isAllowed) throw new CannotStart(`${what}; or set ALLOW_UNSAFE_POSTGRES=true where orders may be lost`, { hopeless: true });
  logger.warn(`${what}; ALLOW_UNSAFE_POSTGRES allows it`);
}
