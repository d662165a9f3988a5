/** An EventStoreDB test server in a process of its own, which tests kill, stop in the middle and start again on the same file and port. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { within } from './until.js';

export interface EventStoreProcess {
  readonly port: number;
  readonly url: string;
  readonly file: string;
  /** `kill -9`. */
  kill(): Promise<void>;
  /** On the same file and port. */
  start(): Promise<void>;
  /** Stops it in the middle: connections stay open, and nothing comes back. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

export async function startEventStoreProcess(): Promise<EventStoreProcess> {
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

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await within('the EventStoreDB test server is dead', ended);
  }

  await start();
  return {
    port, url: `esdb://127.0.0.1:${port}?tls=false`, file, kill, start,
    freeze: () => { child.kill('SIGSTOP'); },
    thaw: () => { child.kill('SIGCONT'); },
    async close() {
      await kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
