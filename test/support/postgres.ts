/** A real Postgres for tests: one cluster a mocha run, started by the first file that asks, and a fresh database a file. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../service/embedded/embedded-postgres.js';
import { isRunning } from '../../service/embedded/process-identity.js';

export interface TestDatabase {
  readonly url: string;
  /** Ends its connections and removes it. Optional: the whole cluster goes at the end of the run. */
  drop(): Promise<void>;
}

interface Cluster { readonly directory: string; readonly server: EmbeddedPostgres }

const PREFIX = 'prediction-exchange-test-';
let running: Promise<Cluster> | undefined;

/** A new, empty database. Call it in a `before` hook, once per test file. */
export async function testDatabase(): Promise<TestDatabase> {
  running ??= startCluster();
  const { server } = await running;
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asSuperuser(server.url, `create database ${name}`);
  const url = new URL(server.tcpUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => asSuperuser(server.url, `drop database if exists ${name} with (force)`) };
}

/** Without fsync: a test run need not outlive a power cut. */
async function startCluster(): Promise<Cluster> {
  await removeLeftovers();
  const directory = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
  const server = await startEmbeddedPostgres({
    directory, log: () => undefined, settings: { fsync: 'off', min_wal_size: '80MB', shared_buffers: '64MB', max_connections: '200' },
  });
  // When mocha ends by process.exit(), no hook runs.
  process.once('exit', () => {
    try {
      process.kill(server.pid, 'SIGQUIT');
    } catch {
      return;
    }
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
  });
  return { directory, server };
}

/** What runs that were killed have left: starting on their directory stops their Postgres. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PREFIX) || isRunning(Number.parseInt(name.slice(PREFIX.length), 10))) continue;
    const directory = join(tmpdir(), name);
    try {
      const server = await startEmbeddedPostgres({ directory, log: () => undefined });
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    } catch {
      // Another run is clearing it away at the same time, or it is another user's.
    }
  }
}

async function asSuperuser(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

after('stop the cluster', async () => {
  const cluster = await running?.catch(() => undefined);
  running = undefined;
  if (cluster === undefined) return;
  await cluster.server.stop();
  await rm(cluster.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
});
