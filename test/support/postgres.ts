/** The real Postgres of a run of the tests: one cluster for all its processes, with a template that has every schema, and databases for tests. */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CREATE_SCHEMA as LANE } from '../../command/lane/schema.js';
import { SETTLEMENT_SCHEMA } from '../../command/settlement/postgres-store.js';
import { CREATE_SCHEMA as LOG } from '../../engine/log/postgres/schema.js';
import { projections } from '../../projections/catalogue.js';
import { openSession } from '../../projections/database.js';
import { createReadModels, grantReader, READ_MODELS } from '../../projections/schema.js';
import { openTokenStore } from '../../service/access/token-store.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../stack/embedded-postgres.js';
import { isRunning } from './test-machine.js';
import { onDatabase } from './sql.js';

interface PostgresCluster {
  /** For the superuser, by TCP. */
  readonly url: string;
  stop(): Promise<void>;
}

/** The name of the database with every schema, and no rows. */
const TEMPLATE = 'exchange_template';

const PREFIX = 'prediction-exchange-test-';

/** A test run need not outlive a power cut, and no table grows large enough to be vacuumed. */
const SETTINGS = {
  fsync: 'off', full_page_writes: 'off', autovacuum: 'off', io_method: 'sync',
  min_wal_size: '80MB', shared_buffers: '128MB', max_connections: '400',
};

export async function startPostgresCluster(): Promise<PostgresCluster> {
  await removeLeftovers();
  const directory = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
  const server = await startEmbeddedPostgres({ directory, log: () => undefined, settings: SETTINGS });
  // When the run ends by process.exit().
  const leave = () => { end(server, directory); };
  process.once('exit', leave);
  await makeTemplate(server.tcpUrl);
  return {
    url: server.tcpUrl,
    async stop() {
      process.off('exit', leave);
      await server.stop();
      await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
    },
  };
}

/** Creates all that the roles of a process create when they start. */
async function makeTemplate(cluster: string): Promise<void> {
  await onDatabase(cluster, (client) => client.query(`create database ${TEMPLATE}`));
  const url = urlOf(cluster, TEMPLATE);
  await onDatabase(url, async (client) => {
    for (const sql of [LOG, LANE, SETTLEMENT_SCHEMA.create]) await client.query(sql);
  });
  const tokens = openTokenStore({ url });
  await tokens.list();
  await tokens.close();
  const session = await openSession(url, READ_MODELS);
  await createReadModels({ session, schema: READ_MODELS, projections });
  await grantReader(session, READ_MODELS);
  await session.close();
}

/** The URL of another database of the cluster. */
export function urlOf(cluster: string, name: string): string {
  const url = new URL(cluster);
  url.pathname = `/${name}`;
  return url.href;
}

function end({ pid }: EmbeddedPostgres, directory: string): void {
  try {
    process.kill(pid, 'SIGQUIT');
  } catch {
    return;
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
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

export interface TestDatabase {
  readonly url: string;
  /** Ends its connections and removes it. Optional: the whole cluster goes at the end of the run. */
  drop(): Promise<void>;
}

/** What a process needs that writes to this Postgres. */
export const WITHOUT_FSYNC = { ALLOW_UNSAFE_POSTGRES: 'true' };

/** A new, empty database. Call it in a `before` hook, once per test file. */
export async function testDatabase(): Promise<TestDatabase> {
  return await database('template1');
}

/** A new database with every schema that the roles would create there when they start, and no rows. */
export async function exchangeDatabase(): Promise<TestDatabase> {
  return await database(TEMPLATE);
}

async function database(template: string): Promise<TestDatabase> {
  const cluster = process.env['TEST_POSTGRES'];
  if (cluster === undefined) throw new Error('TEST_POSTGRES names no Postgres: run the tests by npm test, which starts one');
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copying files takes a third of the processor time of writing every page to the WAL.
  await onDatabase(cluster, (client) => client.query(`create database ${name} template ${template} strategy file_copy`));
  return {
    url: urlOf(cluster, name),
    drop: () => onDatabase(cluster, async (client) => { await client.query(`drop database if exists ${name} with (force)`); }),
  };
}
