/** Starts a development stack for the demonstration, in a temporary directory, with the exposure check and nothing that takes long. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Seconds of what would otherwise take hours, or a quarter of one. */
const SHORT = { DEV_DISPUTE_WINDOW_S: '10', QUICK_INTERVAL_S: '25' };

export interface OwnStack {
  readonly url: string;
  readonly dataDir: string;
  /** Stops the stack and removes its data. */
  stop(): Promise<void>;
}

/** Starts the service as `npm start` does, on free ports. Rejects with the service's last lines when it ends before it listens. */
export async function startOwnStack(): Promise<OwnStack> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-demo-'));
  // The account that runs Postgres must be able to enter.
  await chmod(directory, 0o755);
  const dataDir = join(directory, 'data');
  const child = fork(fileURLToPath(new URL('../../stack/main.js', import.meta.url)), {
    env: { PORT: '0', CHAIN_PORT: '0', DATA_DIR: dataDir, EXPOSURE_CHECK: 'true', ...SHORT }, stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const { stdout } = child;
  if (stdout === null) throw new Error('the output of the service cannot be read');
  const exited = once(child, 'exit');
  const lines: string[] = [];
  const listening = new Promise<string>((resolve) => {
    createInterface(stdout).on('line', (line) => {
      lines.push(line);
      if (line.includes('"msg":"listening"')) resolve((JSON.parse(line) as { url: string }).url);
    });
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
    await rm(directory, { recursive: true, force: true });
  };
  const url = await Promise.race([listening, exited.then(() => undefined)]);
  if (url !== undefined) return { url, dataDir, stop };
  await rm(directory, { recursive: true, force: true });
  throw new Error(`the service ended before it listened:\n${lines.slice(-5).join('\n')}`);
}
