/** Where the tests of the log in EventStoreDB have their streams: on a test server, or on the real one that REAL_EVENTSTORE_URL names. */
import { randomBytes } from 'node:crypto';
import { startEventStoreServer } from './eventstore-server.js';

/** A real server that the tests are to use; empty: they start one of their own. */
export const REAL_EVENTSTORE_URL = process.env['REAL_EVENTSTORE_URL'] ?? '';

/** The URL with a stream prefix that nobody has used: what a test leaves on a real server disturbs no other. */
export function onFreshStreams(url: string): string {
  const [place, options = ''] = url.split('?');
  const given = new URLSearchParams(options);
  given.set('streamPrefix', `test-${randomBytes(8).toString('hex')}`);
  return `${place}?${given.toString()}`;
}

/** The same log by another way to the server: a proxy at the port. */
export function throughPort(url: string, port: number): string {
  return url.replace(/^(\w+:\/\/(?:[^@/?]*@)?)[^/?]+/, `$1127.0.0.1:${port}`);
}

/** Fresh streams on the real server, or on a test server of their own. */
export async function testEventStore(): Promise<{ readonly url: string; close(): Promise<void> }> {
  if (REAL_EVENTSTORE_URL !== '') return { url: onFreshStreams(REAL_EVENTSTORE_URL), close: async () => undefined };
  const server = await startEventStoreServer();
  return { url: onFreshStreams(server.url), close: () => server.close() };
}
