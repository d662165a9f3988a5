/** The user of the reads: a session of his can write nothing, whatever it is told; and the query role needs no other user. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openLog } from '../../engine/log/open-log.js';
import { LogUnavailable } from '../../engine/log/log.js';
import { openReadModels } from '../../query/database.js';
import { readerUrlOf } from '../../stack/reader-login.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { startService, type ServiceProcess } from '../support/service-process.js';

describe('query: the user who may only read', () => {
  let database: TestDatabase;
  let exchange: ServiceProcess;
  /** A process whose every database URL has this user. */
  let query: ServiceProcess;
  let directory: string;
  let url: string;
  let session: pg.Client;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-reader-'));
    database = await testDatabase();
    url = await readerUrlOf(database.url);
    const settings = { CHAINS: 'none', DATA_DIR: directory, LOG_LEVEL: 'info' };
    exchange = await startService({ ...settings, DATABASE_URL: database.url, QUERY_DATABASE_URL: url });
    query = await startService({ ...settings, DATABASE_URL: url, ROLES: 'query' });
    // With every role they would be there already.
    for (const name of ['lane.requests', 'access.tokens']) {
      await runSql(database.url, `create schema if not exists ${name.split('.')[0]}; create table if not exists ${name} ()`);
    }
    session = new pg.Client({ connectionString: url });
    await session.connect();
  });
  after(async () => {
    await session.end();
    await query.stop();
    await exchange.stop();
    await database.drop();
    await rm(directory, { recursive: true });
  });

  it('cannot write to read models and log, nor make anything, and does not see tokens and requests, also as who it is at the bottom', async () => {
    await session.query('reset role; set session characteristics as transaction read write; set search_path = read_models');
    for (const text of [
      'update read_models.levels set size = 1', 'delete from read_models.orders', 'truncate read_models.trades', 'insert into log.streams values (7, 0)',
      'drop table read_models.orders', 'create table read_models.mine (a int)', 'create schema mine', 'select * from access.tokens', 'select * from lane.requests',
      'set role postgres', 'create role mine', 'alter role query_login superuser', 'select pg_read_file(\'/etc/passwd\')', 'copy read_models.orders to program \'true\'',
    ]) await assert.rejects(session.query(text), { code: '42501' }, text);
    assert.ok((await session.query('select 1 from log.records limit 1')).rowCount! > 0);
  });

  it('is the user of the reads of a process with every role', async () => {
    assert.equal((await fetch(`${exchange.url}/api/v1/markets`)).status, 200);
    const { rows } = await session.query<{ usename: string }>(`
      select distinct usename from pg_stat_activity where datname = current_database() and query like '%from markets%' and pid <> pg_backend_pid()`);
    assert.deepEqual(rows, [{ usename: 'query_login' }]);
  });

  it('is all that a process with the query role needs', async () => {
    for (const path of ['/health/ready', '/api/v1/markets', '/api/v1/platform/stats', '/api/v1/events?from=0&limit=2']) {
      const answer = await fetch(`${query.url}${path}`);
      assert.equal(answer.status, 200, `${path}: ${await answer.text()}`);
    }
  });

  it('reads the log, and is told that there is none yet, without making one', async () => {
    const log = await openLog(url);
    assert.ok((await log.read('commands', 0, 10)).length > 0);
    await log.close();
    const empty = await testDatabase();
    await assert.rejects(openLog(await readerUrlOf(empty.url)), LogUnavailable);
    await empty.drop();
  });

  it('reads the models', async () => {
    const db = await openReadModels({ url });
    assert.ok(await db.position() >= 0);
    await db.close();
  });
});
