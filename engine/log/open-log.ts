/** Opens the log that a URL names: the one place that knows which adapters there are. */
import type { Log } from './log.js';
import { openPostgresLog, type PostgresLogOptions } from './postgres/postgres-log.js';

export type LogOptions = Omit<PostgresLogOptions, 'url'>;

/** The URL names no log that this program can open. The URL itself is not shown: it may hold a password. */
export class UnknownLogUrl extends Error {
  constructor(what: string) {
    super(`the log's URL ${what}; give postgresql://user:password@host:port/database`);
    this.name = 'UnknownLogUrl';
  }
}

/** Each scheme is matched with the `://` after it: other text before a colon might be a user's name. */
const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;

/**
 * Opens the log and makes what it is missing in its store. `postgres://` and `postgresql://`: the log in Postgres. Throws
 * UnknownLogUrl, or LogUnavailable when the store cannot be reached; no error shows the URL. A log in memory has no URL, since it
 * ends with its process: tests make it with `createMemoryLog`.
 */
export async function openLog(url: string, options: LogOptions = {}): Promise<Log> {
  switch (SCHEME.exec(url)?.[1]?.toLowerCase()) {
    case 'postgres':
    case 'postgresql':
      return await openPostgresLog({ url, ...options }).catch(explainUrl);
    case 'esdb':
    case 'esdb+discover':
    case 'kurrentdb':
    case 'kurrentdb+discover':
      throw new UnknownLogUrl('names an EventStoreDB (KurrentDB), and this version has no adapter for it: keep the log in Postgres');
    default:
      throw new UnknownLogUrl('begins with none of postgres:// and postgresql:// (esdb://, esdb+discover://, kurrentdb:// and '
        + 'kurrentdb+discover:// are to come)');
  }
}

/** What node says about a URL that cannot be read is "Invalid URL". */
function explainUrl(error: unknown): never {
  if (error instanceof TypeError && 'code' in error && error.code === 'ERR_INVALID_URL') throw new UnknownLogUrl('cannot be read as a URL');
  throw error;
}
