/** Opens the log that a URL names. */
import { BadEventStoreUrl, namesEventStore } from './eventstore/url.js';
import type { Log, LogOptions } from './log.js';
import { openPostgresLog } from './postgres/postgres-log.js';

/** This program cannot open a log at this URL. The message does not show the URL, which may contain a password. */
export class UnknownLogUrl extends Error {
  constructor(what: string) {
    super(`the log's URL ${what}`);
    this.name = 'UnknownLogUrl';
  }
}

/** Matches a scheme only with the `://` after it: other text before a colon may be a user's name. */
const POSTGRES = /^postgres(?:ql)?:\/\//i;
const FORMS = 'give postgresql://user:password@host:port/database';

/**
 * Opens the log and creates what it lacks. `postgres://` and `postgresql://` name a log in Postgres; `esdb://`,
 * `kurrentdb://` and both with `+discover` one in EventStoreDB (KurrentDB). Throws UnknownLogUrl, or LogUnavailable
 * when the store cannot be reached; no error shows the URL. A log in memory has no URL, because it ends with its
 * process: tests make it with `createMemoryLog`.
 */
export async function openLog(url: string, options: LogOptions = {}): Promise<Log> {
  if (namesEventStore(url)) {
    // Loaded where it is used: its client takes a quarter of a second of each process's start.
    const { openEventStoreLog } = await import('./eventstore/eventstore-log.js');
    return await openEventStoreLog({ url, ...options }).catch(explainUrl);
  }
  if (POSTGRES.test(url)) return await openPostgresLog({ url, ...options }).catch(explainUrl);
  throw new UnknownLogUrl(`starts with none of postgres://, postgresql://, esdb://, esdb+discover://, kurrentdb:// and kurrentdb+discover://; ${FORMS}`);
}

/** Whether the store of the log tells its time only in what is written. */
export function tellsNoTime(url: string): boolean {
  return namesEventStore(url);
}

/** Node's own message, "Invalid URL", does not name the setting. */
function explainUrl(error: unknown): never {
  if (error instanceof BadEventStoreUrl) throw new UnknownLogUrl(`is wrong: ${error.message}`);
  if (error instanceof TypeError && 'code' in error && error.code === 'ERR_INVALID_URL') throw new UnknownLogUrl(`cannot be read as a URL; ${FORMS}`);
  throw error;
}
