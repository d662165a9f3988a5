/** A start waits for the databases that its roles use, and ends where waiting cannot help, with an error that names the setting. */
import { createConnection } from '../../engine/log/postgres/connection.js';
import { CannotStart, messageOf } from '../cannot-start.js';
import { databasesOf, type ConditionsOptions } from '../conditions/conditions.js';
import type { RoleName } from '../roles/role-names.js';
import type { DatabaseName } from './readiness.js';
import type { Waits } from './waits.js';

const CONNECT_TIMEOUT_MS = 10_000;

const SETTINGS: Readonly<Record<DatabaseName, string>> = { 'log': 'LOG_URL', 'read models': 'DATABASE_URL', 'outbox': 'OUTBOX_URL' };

type Urls = ConditionsOptions['urls'];

interface Wanted {
  readonly urls: Urls;
  readonly roles: ReadonlySet<RoleName>;
  readonly waits: Waits;
}

/** The database does not answer now, and may later. */
class NotThere extends Error {}

/**
 * Resolves when each Postgres that the roles use takes a connection. Throws CannotStart for what waiting cannot mend: a refused user, a
 * missing database. No text has a user or a password.
 */
export async function waitForDatabases({ urls, roles, waits }: Wanted): Promise<void> {
  const byUrl = new Map<string, DatabaseName[]>();
  for (const name of databasesOf(roles)) {
    const url = urlOf(urls, name);
    if (isPostgres(url)) byUrl.set(url, [...byUrl.get(url) ?? [], name]);
  }
  await Promise.all([...byUrl].map(([url, names]) => (
    waits.until(`the ${names.join(' and the ')} at ${placeOf(url)}`, () => connectTo(url, settingOf(names)), (error) => error instanceof NotThere))));
}

/** Host and path: the database that the URL names, without its secrets. */
export function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${decodeURIComponent(host)}${pathname}`;
}

function urlOf(urls: Urls, name: DatabaseName): string {
  return name === 'read models' ? urls.readModels : urls[name];
}

function isPostgres(url: string): boolean {
  return /^postgres(ql)?:/.test(url);
}

/** The setting that names the database: LOG_URL and OUTBOX_URL are the same as DATABASE_URL when they are not set. */
function settingOf(names: readonly DatabaseName[]): string {
  const [first = 'read models'] = names;
  return names.length === 1 ? SETTINGS[first] : SETTINGS['read models'];
}

async function connectTo(url: string, setting: string): Promise<void> {
  const connection = createConnection({
    url, name: 'prediction-exchange start', connectTimeoutMs: CONNECT_TIMEOUT_MS, statementTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  try {
    await connection.get();
  } catch (cause) {
    const fault = hopelessFault(cause);
    if (fault === undefined) throw new NotThere(passingFault(cause), { cause });
    throw new CannotStart(`the Postgres of ${setting} (${placeOf(url)}) ${fault.what}: ${fault.todo}`, { hopeless: true, cause });
  } finally {
    await connection.end();
  }
}

/** Of several addresses of a host, the first one's error tells enough. */
function firstOf(error: unknown): unknown {
  return error instanceof AggregateError ? error.errors[0] : error;
}

function codeOf(error: unknown): string {
  return (firstOf(error) as { code?: string }).code ?? '';
}

/** What waiting cannot mend: class 28 of SQLSTATE, a database that is not there, and what the driver itself refuses to sign in with. */
function hopelessFault(error: unknown): { readonly what: string; readonly todo: string } | undefined {
  const code = codeOf(error);
  const message = messageOf(firstOf(error));
  if (code.startsWith('28') || message.startsWith('SASL')) return { what: `does not let this user in (${message})`, todo: 'correct user and password' };
  if (code === '3D000') return { what: `is not there (${message})`, todo: 'create the database, or correct its name' };
  return undefined;
}

function passingFault(error: unknown): string {
  const code = codeOf(error);
  if (code === 'ECONNREFUSED') return 'it refuses connections (ECONNREFUSED)';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `its host is unknown (${code})`;
  if (code === '57P03') return `it is starting up or shutting down (${messageOf(firstOf(error))})`;
  if (code === 'ENOENT') return 'its socket is not there (ENOENT)';
  return `it cannot be used (${messageOf(error)})`;
}
