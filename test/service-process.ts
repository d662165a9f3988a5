/** The whole service as a process of its own, for tests that kill it and benchmarks that load it. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface ServiceProcess {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** Asks it to stop and waits for its end; returns the exit code. */
  stop(): Promise<number | null>;
  /** `kill -9`. */
  kill(): Promise<void>;
}

/** Starts `service/main.js` on any free port and waits until it listens. Rejects with its last lines when it ends before that. */
export async function startService(environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const child = fork(fileURLToPath(new URL('../service/main.js', import.meta.url)), {
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', ...environment }, stdio: ['ignore', 'pipe', 'inherit', 'ipc'], execArgv: ['--enable-source-maps'],
  });
  const exited = once(child, 'exit');
  const url = await listeningUrl(child, exited);
  child.stdout!.resume();
  return {
    url, child, port: Number(new URL(url).port),
    async stop() {
      child.kill('SIGTERM');
      return (await exited)[0] as number | null;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function listeningUrl(child: ChildProcess, exited: Promise<unknown>): Promise<string> {
  const lines: string[] = [];
  const listening = new Promise<string>((resolve) => {
    createInterface(child.stdout!).on('line', (line) => {
      lines.push(line);
      if (line.includes('"msg":"listening"')) resolve((JSON.parse(line) as { url: string }).url);
    });
  });
  const ended = exited.then(() => { throw new Error(`the service ended before it listened:\n${lines.slice(-10).join('\n')}`); });
  ended.catch(() => undefined);
  return Promise.race([listening, ended]);
}
