/**
 * An EventStoreDB server in a process of its own, which tests kill, stop in the middle and start again on the same data and port: the test
 * server, or the real one that REAL_EVENTSTORE_URL names and the command EVENTSTORE_START starts.
 */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openEventStoreLog } from '../../engine/log/eventstore/eventstore-log.js';
import { parseEventStoreUrl } from '../../engine/log/eventstore/url.js';
import { onFreshStreams, REAL_EVENTSTORE_URL } from './eventstore-log.js';
import { until, within } from './until.js';

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
export const EVENTSTORE_START = process.env['EVENTSTORE_START'] ?? '';

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
