/** A start waits for the databases that its roles use, and ends where waiting cannot help, with an error that names the setting. */
import { isWrongUser, reasonOf } from '../../engine/log/eventstore/faults.js';
import { createEventStoreProbe, type EventStoreProbe } from '../../engine/log/eventstore/probe.js';
import { BadEventStoreUrl, namesEventStore, parseEventStoreUrl, placeOfEventStore } from '../../engine/log/eventstore/url.js';
import { LogRefused, UnusableLog, type Stream } from '../../engine/log/log.js';
import { createConnection } from '../../engine/log/postgres/connection.js';
import { CannotStart, messageOf } from '../cannot-start.js';
import { databasesOf, writtenBy, type ConditionsOptions } from '../conditions/conditions.js';
import type { RoleName } from '../roles/role-names.js';
import type { DatabaseName } from './readiness.js';
import type { Waits } from './waits.js';

const CONNECT_TIMEOUT_MS = 10_000;

const SETTINGS: Readonly<Record<DatabaseName, string>> = { 'log': 'LOG_URL', 'read models': 'DATABASE_URL', 'outbox': 'OUTBOX_URL' };

/** LOG_URL may name it, too: the text says so by the place. */
const EVENTSTORE_SETTING = 'EVENTSTORE_URL';

/** What OpenSSL says of an answer that is not one of TLS. */
const NO_TLS = /wrong version number|packet length too long|EPROTO/i;

type Urls = ConditionsOptions['urls'];

interface Wanted {
  readonly urls: Urls;
  readonly roles: ReadonlySet<RoleName>;
  readonly waits: Waits;
}

/** The database does not answer now, and may later. */
class NotThere extends Error {}

/**
 * Resolves when each Postgres that the roles use takes a connection, and the EventStoreDB answers. Throws CannotStart for what waiting
 * cannot mend: a refused user, a missing database, a certificate that is not trusted. No text has a user or a password.
 */
export async function waitForDatabases({ urls, roles, waits }: Wanted): Promise<void> {
  const byUrl = new Map<string, DatabaseName[]>();
  for (const name of databasesOf(roles)) {
    const url = urlOf(urls, name);
    byUrl.set(url, [...byUrl.get(url) ?? [], name]);
  }
  await Promise.all([...byUrl].map(([url, names]) => (
    waits.until(`the ${names.join(' and the ')} at ${placeOf(url)}`, () => reach(url, { names, writes: writtenBy(roles) }), (error) => error instanceof NotThere))));
}

/** Host and path: the database that the URL names, or the server and its streams, without secrets. Throws BadEventStoreUrl as CannotStart. */
export function placeOf(url: string): string {
  if (namesEventStore(url)) return placeOfEventStore(eventStoreAt(url));
  const { host, pathname } = new URL(url);
  return `${decodeURIComponent(host)}${pathname}`;
}

function eventStoreAt(url: string): ReturnType<typeof parseEventStoreUrl> {
  try {
    return parseEventStoreUrl(url);
  } catch (cause) {
    throw cause instanceof BadEventStoreUrl ? new CannotStart(`${EVENTSTORE_SETTING}: ${cause.message}`, { hopeless: true, cause }) : cause;
  }
}

function reach(url: string, { names, writes }: { readonly names: readonly DatabaseName[]; readonly writes: readonly Stream[] }): Promise<void> {
  return namesEventStore(url) ? askEventStore(url, writes) : connectTo(url, settingOf(names));
}

function urlOf(urls: Urls, name: DatabaseName): string {
  return name === 'read models' ? urls.readModels : urls[name];
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

async function askEventStore(url: string, writes: readonly Stream[]): Promise<void> {
  let probe: EventStoreProbe | undefined;
  try {
    probe = createEventStoreProbe({ url, timeoutMs: CONNECT_TIMEOUT_MS, writes });
    await probe.ask();
  } catch (cause) {
    const hopeless = (what: string) => new CannotStart(`the EventStoreDB of ${EVENTSTORE_SETTING} (${placeOf(url)}) ${what}`, { hopeless: true, cause });
    if (cause instanceof BadEventStoreUrl) throw new CannotStart(`${EVENTSTORE_SETTING}: ${cause.message}`, { hopeless: true, cause });
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
