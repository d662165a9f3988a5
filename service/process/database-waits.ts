/**
 * A start waits for the databases that its roles use, and ends where waiting cannot help, with an error that names the
 * setting.
 */
import { CannotStart } from '../../engine/cannot-start.js';
import { isWrongUser, reasonOf } from '../../engine/log/eventstore/faults.js';
import { createEventStoreProbe, type EventStoreProbe } from '../../engine/log/eventstore/probe.js';
import { BadEventStoreUrl, namesEventStore, parseEventStoreUrl, placeOfEventStore } from '../../engine/log/eventstore/url.js';
import { LogRefused, UnusableLog, type Stream } from '../../engine/log/log.js';
import { createConnection } from '../../engine/log/postgres/connection.js';
import { hopelessFault, passingFault } from '../../engine/log/postgres/faults.js';
import { askServer } from '../../engine/log/postgres/server.js';
import type { ConditionsOptions } from '../status/conditions.js';
import { databasesOf, writtenBy, type DatabaseName, type RoleName } from './roles.js';
import { unfitPostgres } from './unfit-postgres.js';
import type { Waits } from './waits.js';

const CONNECT_TIMEOUT_MS = 10_000;

/** What a URL is for. The reads have one of their own where their user, or their server, is another. */
type Use = DatabaseName | 'reads';

const SETTINGS: Readonly<Record<Use, string>> = {
  'log': 'LOG_URL', 'read models': 'DATABASE_URL', 'outbox': 'OUTBOX_URL', 'reads': 'QUERY_DATABASE_URL',
};

/** What OpenSSL says of an answer that is not one of TLS. */
const NO_TLS = /wrong version number|packet length too long|EPROTO/i;

type Urls = ConditionsOptions['urls'] & { readonly reads?: string };

interface DatabaseWaitOptions {
  readonly urls: Urls;
  readonly roles: ReadonlySet<RoleName>;
  readonly waits: Waits;
}

/** A database that a process uses, or several that are one. */
interface Used {
  readonly uses: readonly Use[];
  readonly setting: string;
  /** The roles that use it; none for the reads. */
  readonly users: readonly RoleName[];
}

/** The database does not answer now, and may later. */
class NotThere extends Error {}

/**
 * Resolves when each Postgres that the roles use takes a connection, and the EventStoreDB answers. Throws CannotStart
 * for what waiting cannot mend: a refused user, a missing database, a certificate that is not trusted, an old Postgres;
 * and where a role needs a primary and there is a standby. No text has a user or a password.
 */
export async function waitForDatabases({ urls, roles, waits }: DatabaseWaitOptions): Promise<void> {
  await Promise.all([...usedDatabases(urls, roles)].map(([url, used]) => (
    waits.until(`the ${used.uses.join(' and the ')} at ${placeOf(url)}`, () => reach(url, used), (error) => error instanceof NotThere))));
}

/** By URL. LOG_URL and OUTBOX_URL are the same as DATABASE_URL when they are not set. */
function usedDatabases(urls: Urls, roles: ReadonlySet<RoleName>): ReadonlyMap<string, Used> {
  const used = new Map<string, Used>();
  const add = (url: string, use: Use, users: readonly RoleName[]): void => {
    const others = used.get(url);
    used.set(url, {
      uses: [...others?.uses ?? [], use], setting: url === urls.readModels ? SETTINGS['read models'] : others?.setting ?? SETTINGS[use],
      users: [...new Set([...others?.users ?? [], ...users])],
    });
  };
  for (const name of databasesOf(roles)) {
    add(urlOf(urls, name), name, [...roles].filter((role) => databasesOf(new Set([role])).includes(name)));
    if (name === 'read models' && urls.reads !== undefined && urls.reads !== urls.readModels) add(urls.reads, 'reads', []);
  }
  return used;
}

/**
 * Host and path: the database that the URL names, or the server and its streams, without secrets. Throws
 * BadEventStoreUrl as CannotStart.
 */
export function placeOf(url: string): string {
  if (namesEventStore(url)) return placeOfEventStore(eventStoreAt(url));
  const { host, pathname } = new URL(url);
  return `${decodeURIComponent(host)}${pathname}`;
}

function eventStoreAt(url: string): ReturnType<typeof parseEventStoreUrl> {
  try {
    return parseEventStoreUrl(url);
  } catch (cause) {
    throw cause instanceof BadEventStoreUrl ? new CannotStart(`${SETTINGS.log}: ${cause.message}`, { hopeless: true, cause }) : cause;
  }
}

function reach(url: string, used: Used): Promise<void> {
  return namesEventStore(url) ? askEventStore(url, writtenBy(new Set(used.users))) : connectTo(url, used);
}

function urlOf(urls: Urls, name: DatabaseName): string {
  return name === 'read models' ? urls.readModels : urls[name];
}

async function connectTo(url: string, { setting, users }: Used): Promise<void> {
  const named = `the Postgres of ${setting} (${placeOf(url)})`;
  const connection = createConnection({
    url, name: 'prediction-exchange start', connectTimeoutMs: CONNECT_TIMEOUT_MS, statementTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  try {
    const unfit = unfitPostgres(await askServer(await connection.get()), users);
    if (unfit !== undefined) throw new CannotStart(`${named} ${unfit.what}`, unfit);
  } catch (cause) {
    if (cause instanceof CannotStart) throw cause;
    const fault = hopelessFault(cause);
    if (fault === undefined) throw new NotThere(passingFault(cause), { cause });
    throw new CannotStart(`${named} ${fault.what}: ${fault.todo}`, { hopeless: true, cause });
  } finally {
    await connection.end();
  }
}

async function askEventStore(url: string, writes: readonly Stream[]): Promise<void> {
  let probe: EventStoreProbe | undefined;
  try {
    probe = createEventStoreProbe({ url, timeoutMs: CONNECT_TIMEOUT_MS, writes });
    await probe.ask();
  } catch (cause) {
    const hopeless = (what: string) => new CannotStart(`the EventStoreDB of ${SETTINGS.log} (${placeOf(url)}) ${what}`, { hopeless: true, cause });
    if (cause instanceof BadEventStoreUrl) throw new CannotStart(`${SETTINGS.log}: ${cause.message}`, { hopeless: true, cause });
    if (cause instanceof LogRefused && isWrongUser(cause.cause)) throw hopeless('does not let this user in: correct user and password');
    if (cause instanceof LogRefused || cause instanceof UnusableLog) throw hopeless(`cannot be used: ${cause.message}`);
    const reason = reasonOf(cause);
    if (/certificate/i.test(reason)) throw hopeless(`has a certificate that is not trusted (${reason}): correct tlsCAFile or the host`);
    if (NO_TLS.test(reason)) throw new NotThere(`it does not speak TLS (${reason}): if it is meant to be insecure, add tls=false to the URL`, { cause });
    throw new NotThere(`it does not answer (${reason})`, { cause });
  } finally {
    await probe?.close();
  }
}
