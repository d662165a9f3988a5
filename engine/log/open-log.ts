/** Opens the log that a URL names. Only this module knows which adapters exist. */
import type { Log } from './log.js';
import { openPostgresLog, type PostgresLogOptions } from './postgres/postgres-log.js';

export type LogOptions = Omit<PostgresLogOptions, 'url'>;

/** This program cannot open a log at this URL. The message does not show the URL, which may contain a password. */
export class UnknownLogUrl extends Error {
  constructor(what: string) {
    super(`the log's URL ${what}; give postgresql://user:password@host:port/database`);
    this.name = 'UnknownLogUrl';
  }
}

/** Matches a scheme only with the `://` after it: other text before a colon may be a user's name. */
const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;

/**
 * Opens the log and creates its missing tables. `postgres://` and `postgresql://` name a log in Postgres. Throws UnknownLogUrl, or
 * LogUnavailable when the store cannot be reached; no error shows the URL. A log in memory has no URL, because it ends with its
 * process: tests make it with `createMemoryLog`.
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
      throw new UnknownLogUrl('starts with neither postgres:// nor postgresql:// (esdb://, esdb+discover://, kurrentdb:// and '
        + 'kurrentdb+discover:// are not supported yet)');
  }
}

/** Node's own message, "Invalid URL", does not name the setting. */
function explainUrl(error: unknown): never {
  if (error instanceof TypeError && 'code' in error && error.code === 'ERR_INVALID_URL') throw new UnknownLogUrl('cannot be read as a URL');
  throw error;
}
