/** The whole service as a process of its own, for tests that kill it and benchmarks that load it. */
import { existsSync } from 'node:fs';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { NODE_ARGUMENTS } from '../../service/process/node-arguments.js';
import { WITHOUT_FSYNC } from './postgres.js';
import { listenForSecrets } from './spoken-secrets.js';
import { within } from './until.js';

const LINES_KEPT = 40;
/** A start on a busy machine takes less. */
const START_S = 120;

/** A service that may not listen yet. */
export interface SpawnedService {
  readonly child: ChildProcess;
  /** Where it listens, once it does. Rejects with its last lines when it ends before that. */
  readonly listening: Promise<string>;
  /** The same, as soon as it answers at all: before its roles work. */
  readonly answering: Promise<string>;
  /** Its exit code, null after a signal; resolves when it has ended. */
  readonly exited: Promise<number | null>;
  /** What it wrote last, to both outputs. */
  readonly lastLines: () => readonly string[];
}

export interface ServiceProcess {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** Asks it to stop and waits for its end; returns the exit code. */
  stop(): Promise<number | null>;
  /** `kill -9`. */
  kill(): Promise<void>;
}

/**
 * Starts the exchange on any free port and waits until it listens. Rejects with its last lines when it ends before that. `build` as for
 * `spawnService`.
 */
export async function startService(environment: Readonly<Record<string, string>>, build?: BuildToStart): Promise<ServiceProcess> {
  const { child, listening, exited } = spawnService(environment, build);
  const url = await listening;
  return {
    url, child, port: Number(new URL(url).port),
    async stop() {
      child.kill('SIGTERM');
      return await within('the service stops', exited);
    },
    async kill() {
      child.kill('SIGKILL');
      await within('the service is dead', exited);
    },
  };
}

/** Starts one process on any free port. */
export function spawnService(environment: Readonly<Record<string, string>>, build: BuildToStart = {}): SpawnedService {
  return spawnProgram({ program: programFor(environment), says: '"msg":"listening"', ...build }, environment);
}

/**
 * Starts `npm run start:roles` with `count` processes, each on any free port. `listening` resolves with the address of the last one when the
 * roles of all of them work.
 */
export function spawnStack(environment: Readonly<Record<string, string>>, count: number): SpawnedService {
  return spawnProgram({ program: 'stack/start-roles.js', says: '"msg":"listening"', count }, environment);
}

export interface BuildToStart {
  /** Where it is compiled; default: with this program. */
  readonly dist?: string;
  /** Further arguments of Node. */
  readonly nodeArgs?: readonly string[];
  /** Is told every line of its output. */
  readonly heard?: ((line: string) => void) | undefined;
}

/** What the settings leave out, the development stack brings. Builds of earlier revisions have one program for both. */
function programFor(environment: Readonly<Record<string, string>>): string {
  return (environment['DATABASE_URL'] ?? '') === '' || environment['CHAINS'] === 'dev' ? 'stack/main.js' : 'service/main.js';
}

interface Program extends BuildToStart {
  readonly program: string;
  /** What its log line about its address has in it. */
  readonly says: string;
  /** It works when it has said that so many times: once per process. */
  readonly count?: number;
}

const DIST = fileURLToPath(new URL('../..', import.meta.url));

/** Those with which its own scripts would start it: an older build had only the first one. */
function argumentsOf(dist: string): readonly string[] {
  return existsSync(join(dist, 'service/process/node-arguments.js')) ? NODE_ARGUMENTS : NODE_ARGUMENTS.slice(0, 1);
}

function spawnProgram(
  { program, says, count = 1, heard, dist = DIST, nodeArgs = [] }: Program, environment: Readonly<Record<string, string>>,
): SpawnedService {
  const path = [program, 'service/main.js'].map((each) => join(dist, each)).find(existsSync)!;
  const child = fork(path, {
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', STOP_GRACE_MS: '0', ...'DATABASE_URL' in environment ? WITHOUT_FSYNC : {}, ...environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [...argumentsOf(dist), ...nodeArgs],
  });
  // Not `exit`: output may come after it.
  const exited = once(child, 'close').then(([code]) => code as number | null);
  const lines: string[] = [];
  const lookAt = listenForSecrets(environment);
  const [answering, listening] = [deferred(), deferred()];
  let said = 0;
  const keep = (line: string): void => {
    lookAt(line);
    lines.push(line);
    if (lines.length > LINES_KEPT) lines.shift();
    heard?.(line);
  };
  createInterface(child.stderr!).on('line', keep);
  createInterface(child.stdout!).on('line', (line) => {
    keep(line);
    if (line.includes(says) || line.includes(ANSWERS)) answering.resolve(urlIn(line));
    if (line.includes(says) && ++said === count) listening.resolve(urlIn(line));
  });
  void exited.then(() => {
    for (const { reject } of [answering, listening]) reject(new Error(`the service ended before it listened:\n${lines.join('\n')}`));
  });
  const told = (what: string, { promise }: typeof listening): Promise<string> => {
    const url = within(`${program} ${what}`, promise, START_S);
    url.catch(() => undefined);
    return url;
  };
  return { child, answering: told('answers', answering), listening: told('listens', listening), exited, lastLines: () => lines };
}

/** What the log line of a process that does not work yet has in it. */
const ANSWERS = '"msg":"answering';

function urlIn(line: string): string {
  return (JSON.parse(line) as { url: string }).url;
}

function deferred() {
  let settle!: { readonly resolve: (url: string) => void; readonly reject: (error: Error) => void };
  const promise = new Promise<string>((resolve, reject) => { settle = { resolve, reject }; });
  promise.catch(() => undefined);
  return { promise, ...settle };
}
