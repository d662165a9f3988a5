/** Checks at the start that the databases of the settings can be reached, so that an error names the setting and says what to do. */
import { isAccessDenied, reasonOf } from '../../engine/log/eventstore/faults.js';
import { createEventStoreProbe, type EventStoreProbe } from '../../engine/log/eventstore/probe.js';
import { BadEventStoreUrl, namesEventStore, parseEventStoreUrl, placeOfEventStore } from '../../engine/log/eventstore/url.js';
import { createConnection } from '../../engine/log/postgres/connection.js';
import { CannotStart, messageOf } from '../cannot-start.js';
import type { Config } from '../config.js';

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects once to each database that the settings name. Throws CannotStart, whose message has the host and the database, but neither user
 * nor password.
 */
export async function checkDatabases(config: Pick<Config, 'databaseUrl' | 'eventstoreUrl' | 'logUrl' | 'outboxUrl'>): Promise<void> {
  const named = [
    ['DATABASE_URL', config.databaseUrl], ['EVENTSTORE_URL', config.eventstoreUrl], ['LOG_URL', config.logUrl], ['OUTBOX_URL', config.outboxUrl],
  ] as const;
  for (const [setting, url] of named) if (url !== '') await (namesEventStore(url) ? checkEventStore(setting, url) : checkDatabase(setting, url));
}

async function checkEventStore(setting: string, url: string): Promise<void> {
  let probe: EventStoreProbe | undefined;
  try {
    probe = createEventStoreProbe({ url, timeoutMs: CONNECT_TIMEOUT_MS });
    await probe.ask();
  } catch (cause) {
    if (cause instanceof BadEventStoreUrl) throw new CannotStart(`${setting}: ${cause.message}`, { hopeless: true, cause });
    const { what, todo, hopeless } = eventStoreFaultOf(cause);
    throw new CannotStart(`the EventStoreDB of ${setting} (${placeOfEventStore(parseEventStoreUrl(url))}) ${what}: ${todo}`, { hopeless, cause });
  } finally {
    await probe?.close();
  }
}

async function checkDatabase(setting: string, url: string): Promise<void> {
  const connection = createConnection({
    url, name: 'prediction-exchange start', connectTimeoutMs: CONNECT_TIMEOUT_MS, statementTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  try {
    await connection.get();
  } catch (cause) {
    const { what, todo, hopeless } = faultOf(cause);
    throw new CannotStart(`the Postgres of ${setting} (${placeOf(url)}) ${what}: ${todo}`, { hopeless, cause });
  } finally {
    await connection.end();
  }
}

/** Host and path: the database that the URL names, without its secrets. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

interface Fault {
  readonly what: string;
  readonly todo: string;
  readonly hopeless: boolean;
}

function eventStoreFaultOf(error: unknown): Fault {
  if (isAccessDenied(error)) return { what: 'does not let this user in', todo: 'correct user and password', hopeless: true };
  const reason = reasonOf(error);
  if (/certificate/i.test(reason)) return { what: `has a certificate that is not trusted (${reason})`, todo: 'correct tlsCAFile or the host', hopeless: false };
  return { what: `does not answer (${reason})`, todo: 'start it, or correct host, port and tls', hopeless: false };
}

/** Classes of SQLSTATE, and codes of the operating system. */
function faultOf(error: unknown): Fault {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const { code = '' } = first as { code?: string };
  if (code === 'ECONNREFUSED') return { what: 'refuses connections (ECONNREFUSED)', todo: 'start it, or correct host and port', hopeless: false };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return { what: `has an unknown host (${code})`, todo: 'correct the host', hopeless: false };
  if (code.startsWith('28')) return { what: `does not let this user in (${messageOf(first)})`, todo: 'correct user and password', hopeless: true };
  if (code === '3D000') return { what: `is not there (${messageOf(first)})`, todo: 'create the database, or correct its name', hopeless: true };
  return { what: `cannot be used (${messageOf(error)})`, todo: 'check that it runs and that this machine can reach it', hopeless: false };
}
