/** Runs anvil, a real EVM chain for development and tests: finds the installed program, starts it, waits until it answers, stops it. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { within } from '../../engine/waiting.js';
import { childEnded, type ChildEnded } from '../child-ended.js';
import { spawnGuarded } from '../guarded-process.js';
import { keepAlive } from '../keep-alive.js';
import { readOutput } from '../process-output.js';

export interface Anvil {
  readonly url: string;
  readonly pid: number;
  /** Resolves with how anvil ended when it ends by itself; never after stop(). */
  readonly ended: Promise<ChildEnded>;
  /** Sends SIGTERM: anvil writes its state, if it was told to keep one, and exits. Can be called again. */
  stop(): Promise<void>;
  /** Ends anvil at once: its state stays as it was last written. */
  kill(): Promise<void>;
}

export interface AnvilOptions {
  readonly chainId: number;
  /** 0 or absent: a free port. */
  readonly port?: number;
  /** Further arguments, such as `['--state', file]`. */
  readonly args?: readonly string[];
  /** Receives every line that anvil writes. */
  readonly log?: (line: string) => void;
  /** Called as soon as the process exists, long before it answers, so that its id can be saved for a start after a crash. */
  readonly spawned?: (pid: number) => void;
}

const STOP_TIMEOUT_MS = 20_000;

/** The well-known test mnemonic; anvil's ten accounts come from it. */
export const TEST_MNEMONIC = 'test test test test test test test test test test test junk';

/**
 * Starts anvil on 127.0.0.1; it makes a block per transaction, and does not outlive this process. Rejects with anvil's last lines when it
 * ends before it answers.
 */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  const { chainId, port = 0, args = [], log = () => undefined, spawned = () => undefined } = options;
  const child = spawnGuarded({
    program: anvilProgram(), args: ['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chainId), '--mnemonic', TEST_MNEMONIC, ...args],
    env: { PATH: '/usr/bin:/bin', HOME: '/tmp' }, stopSignals: ['TERM', 'KILL'],
  });
  if (child.pid !== undefined) spawned(child.pid);
  let listens: (address: string) => void = () => undefined;
  const listening = new Promise<string>((resolve) => { listens = resolve; });
  const lastLines = readOutput(child, { kept: 10, heard: (line) => {
    log(line);
    const address = /^Listening on (\S+)/.exec(line)?.[1];
    if (address !== undefined) listens(address);
  } });
  const exited = new Promise<void>((resolve) => { child.once('close', () => { resolve(); }).once('error', () => { resolve(); }); });
  const address = await Promise.race([listening, exited.then(() => undefined)]);
  const { pid } = child;
  if (address === undefined || pid === undefined) throw new Error(`anvil does not start: ${lastLines().join('\n') || 'it said nothing'}`);
  let stopping = false;
  keepAlive(child, false);
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    stopping = true;
    keepAlive(child, true);
    child.kill(signal);
    if (await within(exited.then(() => true), STOP_TIMEOUT_MS) === undefined) child.kill('SIGKILL');
    await exited;
  };
  return {
    url: `http://${address}`, pid,
    ended: new Promise((resolve) => {
      const told = () => childEnded({ name: 'the development chain', pid, code: child.exitCode, signal: child.signalCode, lastLines: lastLines() });
      void exited.then(() => { if (!stopping) resolve(told()); });
    }),
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** The path of the installed program. Throws an error that says what to do when there is none for this system. */
export function anvilProgram(): string {
  const name = `@foundry-rs/anvil-${process.platform}-${ARCHITECTURES[process.arch] ?? process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'anvil');
  } catch (cause) {
    throw new Error(`no development chain for this system (${name} is not installed): set CHAINS to a chains file, or to none`, { cause });
  }
}
