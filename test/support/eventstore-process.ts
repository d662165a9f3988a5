/** EventStoreDB for tests: a test server or the real one that REAL_EVENTSTORE_URL names, in this process or one that they kill and start again. */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ANY, EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { openEventStoreLog } from '../../engine/log/eventstore/eventstore-log.js';
import { parseEventStoreUrl } from '../../engine/log/eventstore/url.js';
import type { Stream } from '../../engine/log/log.js';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { waitForDatabases } from '../../service/process/database-waits.js';
import { createWaits } from '../../service/process/waits.js';
import { startEventStoreServer } from './eventstore-server.js';
import { until, within } from './until.js';

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

export interface EventStoreAdmin {
  /** Replaces the stream's metadata. */
  setMetadata(stream: Stream, metadata: Readonly<Record<string, unknown>>): Promise<void>;
  /** Deletes the stream: its next append brings it back. */
  remove(stream: Stream): Promise<void>;
  /** Deletes the stream for good. */
  tombstone(stream: Stream): Promise<void>;
  /** Appends an event that is not a record of the log. */
  appendForeign(stream: Stream): Promise<void>;
}

/** Works on the streams of the URL's log. The user of the URL must have the rights. */
export function administer(url: string): EventStoreAdmin {
  const { nodes: [node], user, streamPrefix, tls } = parseEventStoreUrl(url);
  const endpoint = { address: node!.host, port: node!.port };
  const credentials = { username: user?.name ?? 'admin', password: user?.password ?? '' };
  const nameOf = (stream: Stream): string => `${streamPrefix}-${stream}`;
  const withClient = async (work: (client: EventStoreDBClient) => Promise<unknown>): Promise<void> => {
    const client = new EventStoreDBClient({ endpoint }, { insecure: !tls });
    try {
      await work(client);
    } finally {
      await client.dispose();
    }
  };
  const append = (name: string, type: string, data: Readonly<Record<string, unknown>>): Promise<void> => withClient((client) => (
    client.appendToStream(name, jsonEvent({ type, data }), { expectedRevision: ANY, credentials })));
  return {
    setMetadata: (stream, metadata) => append(`$$${nameOf(stream)}`, '$metadata', metadata),
    remove: (stream) => withClient((client) => client.deleteStream(nameOf(stream), { credentials })),
    tombstone: (stream) => withClient((client) => client.tombstoneStream(nameOf(stream), { credentials })),
    appendForeign: (stream) => append(nameOf(stream), 'of others', { here: true }),
  };
}

export interface EventStoreProcess {
  readonly port: number;
  readonly url: string;
  /** `kill -9`. */
  kill(): Promise<void>;
  /** On the same data and port. */
  start(): Promise<void>;
  /** Stops it in the middle: connections stay open, and nothing comes back. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

/** The shell command that starts the real server and goes on as long as it runs; empty: the tests have no server that they may kill but their own. */
const EVENTSTORE_START = process.env['EVENTSTORE_START'] ?? '';

export async function startEventStoreProcess(): Promise<EventStoreProcess> {
  return EVENTSTORE_START === '' ? await startTestServer() : await startRealServer();
}

/** The test server, also where the tests have a real one. `file` is what it keeps. */
export async function startTestServer(): Promise<EventStoreProcess & { readonly file: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-eventstore-'));
  const file = join(directory, 'events.jsonl');
  let child: ChildProcess;
  let port = 0;

  async function start(): Promise<void> {
    child = fork(fileURLToPath(new URL('eventstore-child.js', import.meta.url)), [file, String(port)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const ended = once(child, 'exit').then(([code]) => { throw new Error(`the EventStoreDB test server ended (${String(code)})`); });
    ended.catch(() => undefined);
    [port] = await within('the EventStoreDB test server listens', Promise.race([once(child, 'message') as Promise<[number]>, ended]));
  }

  const kill = (): Promise<void> => killed(child, () => { child.kill('SIGKILL'); });
  await start();
  return {
    port, url: `esdb://127.0.0.1:${port}?tls=false`, file, start, kill,
    freeze: () => { child.kill('SIGSTOP'); },
    thaw: () => { child.kill('SIGCONT'); },
    async close() {
      await kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** In a group of processes of its own, since a shell starts it. */
async function startRealServer(): Promise<EventStoreProcess> {
  const url = onFreshStreams(REAL_EVENTSTORE_URL);
  let child: ChildProcess;
  const signal = (name: NodeJS.Signals): void => { if (child.pid !== undefined) process.kill(-child.pid, name); };

  async function start(): Promise<void> {
    child = spawn('sh', ['-c', EVENTSTORE_START], { stdio: ['ignore', 'ignore', 'inherit'], detached: true });
    await until('the EventStoreDB that EVENTSTORE_START starts answers', async () => {
      if (child.exitCode !== null) throw new Error(`EVENTSTORE_START ended (${child.exitCode})`);
      const log = await openEventStoreLog({ url, attemptTimeoutMs: 1_000 }).catch(() => undefined);
      await log?.close();
      return log !== undefined;
    });
  }

  const kill = (): Promise<void> => killed(child, () => { signal('SIGKILL'); });
  await start();
  return {
    port: parseEventStoreUrl(url).nodes[0]!.port, url, start, kill,
    freeze: () => { signal('SIGSTOP'); },
    thaw: () => { signal('SIGCONT'); },
    close: kill,
  };
}

async function killed(child: ChildProcess, kill: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  kill();
  await within('the EventStoreDB server is dead', ended);
}

interface Starting {
  /** Resolves once the process can go on. */
  readonly reached: Promise<void>;
  /** Why the process cannot start, or what it waits for. Gives up the start. */
  said(): Promise<string>;
}

export function startOn(url: string): Starting {
  const ending = new AbortController();
  const waits = createWaits({ logger: createLogger(parseConfig({}), { write: () => undefined }), signal: ending.signal });
  const reached = waitForDatabases({ urls: { log: url, readModels: '', outbox: '' }, roles: new Set(['engine']), waits });
  const ended = reached.then(() => 'it can start', (error: unknown) => (error as Error).message);
  return {
    reached,
    async said(): Promise<string> {
      const text = await until('what the start waits for, or its end', () => Promise.race([ended, sleep(20).then(() => waits.reasons()[0])]));
      ending.abort(new Error('the test has seen enough'));
      await ended;
      return text;
    },
  };
}
