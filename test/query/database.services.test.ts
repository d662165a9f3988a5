/** The read-only sessions, what becomes of Postgres' problems, and waiting for a position: at hand, later, never, after a cut. */
import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { projections } from '../../projections/catalogue.js';
import { openReadModels } from '../../query/database.js';
import { followPositions } from '../../query/following.js';
import { orderbook } from '../../query/orders/orderbook.js';
import { bytes32, readModels, type ReadModels } from '../support/read-models.js';
import { until } from '../support/until.js';

const statement = (text: string) => ({ name: text.slice(0, 40), text });

describe('query: database', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(() => models.clear());
  after(() => models.close());

  it('opens sessions that cannot write, see only the read models, and end long statements', async () => {
    assert.deepEqual(await models.db.rows(statement(`
      select current_setting('search_path') as path, current_setting('statement_timeout') as timeout`), []),
    [{ path: 'read_models', timeout: '5s' }]);
    await assert.rejects(models.db.rows(statement('delete from orders'), []), { code: '25006' });
  });

  it('keeps its settings where the URL brings its own', async () => {
    const url = new URL(models.url);
    url.searchParams.set('options', '-c search_path=public -c default_transaction_read_only=off -c work_mem=1MB');
    const db = await openReadModels({ url: url.href });
    const settings = await db.rows(statement(`select current_setting('search_path') as path,
      current_setting('default_transaction_read_only') as read_only, current_setting('work_mem') as memory`), []);
    await db.close();
    assert.deepEqual(settings, [{ path: 'read_models', read_only: 'on', memory: '1MB' }]);
  });

  it('takes the role query_reader, which may read the models and nothing else', async () => {
    assert.deepEqual(await models.db.rows(statement('select current_user as me'), []), [{ me: 'query_reader' }]);
    await assert.rejects(models.db.rows(statement('select * from pg_authid'), []), { code: '42501' });
  });

  it('answers unavailable where a statement takes too long or the tables are not there yet, and tells the log', async () => {
    const problems: string[] = [];
    const options = { url: models.url, onError: (error: Error) => { problems.push(error.message); } };
    const db = await openReadModels({ ...options, statementTimeoutMs: 50 });
    await assert.rejects(db.rows(statement('select pg_sleep(600)'), []), { name: 'RequestError', code: 'unavailable' });
    await db.close();
    const early = await openReadModels({ ...options, schema: 'not_made_yet' });
    await assert.rejects(early.position(), { name: 'RequestError', code: 'unavailable' });
    await early.close();
    assert.deepEqual(problems, ['canceling statement due to statement timeout', 'relation "projection" does not exist']);
  });

  it('keeps to the user\'s own role, read-only, where it may not be query_reader', async () => {
    await models.run(`create role outsider login password 'outside'`);
    const url = new URL(models.url);
    url.username = 'outsider';
    url.password = 'outside';
    const db = await openReadModels({ url: url.href });
    try {
      const text = `select current_user as me, current_setting('transaction_read_only') as read_only`;
      assert.deepEqual(await db.rows(statement(text), []), [{ me: 'outsider', read_only: 'on' }]);
    } finally {
      await db.close();
      await models.run('drop role outsider');
    }
  });

  it('reads the new tables after a rebuild has swapped them in under its prepared statements', async () => {
    const book = () => orderbook(models.db, { marketId: bytes32(1), outcome: 0 });
    await models.insert('levels', { price: 1 });
    await Promise.all(Array.from({ length: 20 }, book));
    await models.run(`
      begin;
      create schema shadow;
      create table shadow.levels (like levels including all);
      insert into shadow.levels select market_id, outcome, side, 2, size from levels;
      drop table levels;
      alter table shadow.levels set schema read_models;
      grant select on levels to query_reader;
      drop schema shadow;
      commit`);
    for (const { body } of await Promise.all(Array.from({ length: 20 }, book))) {
      assert.deepEqual((JSON.parse(body) as { bids: unknown }).bids, [{ price: 2, size: 100 }]);
    }
  });

  it('does not take a mistake of ours for an outage', async () => {
    await assert.rejects(models.db.rows(statement('select nothing_such'), []), { code: '42703' });
  });

  it('reads on after every session was cut', async () => {
    await models.db.position();
    await models.run(`
      select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`);
    const position = await until('the database answers', () => models.db.position().catch(() => undefined));
    assert.equal(position, -1);
  });
});

describe('query: waiting for a position', () => {
  let models: ReadModels;
  beforeEach(async () => { models = await readModels(); });
  afterEach(() => models.close());

  it('does not wait for a position that is there', async () => {
    await models.advance(5);
    await models.db.waitForPosition(4, { timeoutMs: 60_000 });
    assert.equal(await models.db.position(), 4);
  });

  it('waits until the read models include it, and no longer', async () => {
    let done = false;
    const waiting = models.db.waitForPosition(4, { timeoutMs: 60_000 }).then(() => { done = true; });
    await models.advance(4);
    assert.equal(await models.db.position(), 3);
    assert.equal(done, false);
    await models.advance(5);
    await waiting;
  });

  it('waits for every projection that is not among them yet', async () => {
    await models.advance(5);
    for (const { name } of projections) {
      await models.run('delete from projection where name = $1', [name]);
      assert.equal(await models.db.position(), -1, name);
      await models.run('insert into projection values ($1, 1)', [name]);
    }
    assert.equal(await models.db.position(), 4);
  });

  it('answers not_caught_up when the time is over, and nobody is left waiting', async () => {
    await models.advance(5);
    await assert.rejects(models.db.waitForPosition(5, { timeoutMs: 20 }), { name: 'RequestError', code: 'not_caught_up' });
    await models.advance(6);
    await models.db.waitForPosition(5, { timeoutMs: 60_000 });
  });

  it('is released by the service\'s stop', async () => {
    const db = await openReadModels({ url: models.url });
    const waiting = assert.rejects(db.waitForPosition(5, { timeoutMs: 60_000 }), { name: 'RequestError', code: 'unavailable' });
    await db.close();
    await waiting;
  });

  it('ends with the request that waits', async () => {
    const request = new AbortController();
    const waiting = models.db.waitForPosition(5, { timeoutMs: 60_000, signal: request.signal });
    request.abort();
    await assert.rejects(waiting, { name: 'RequestError', code: 'unavailable' });
    await assert.rejects(models.db.waitForPosition(5, { signal: request.signal }), { name: 'RequestError', code: 'unavailable' });
  });

  it('is woken by notifications alone, and again after the connection was cut', async () => {
    const others = [await listenerBeside([], models)];
    const follower = followPositions({
      url: models.url, connectTimeoutMs: 5_000, position: () => models.db.position(),
      onError: () => undefined,
      recheckMs: 2 ** 31 - 1,
    });
    await models.advance(1);
    await follower.wait(0, { timeoutMs: 60_000 });
    const first = await listenerBeside(others, models);
    await awaken(1);
    await models.run('select pg_terminate_backend($1)', [first]);
    const lost = follower.wait(2, { timeoutMs: 60_000 });
    await models.advance(3);
    await lost;
    await listenerBeside([...others, first], models);
    await awaken(3);
    await follower.close();

    async function awaken(position: number) {
      const waiting = follower.wait(position, { timeoutMs: 60_000 });
      await turn();
      await models.advance(position + 1);
      await waiting;
    }
  });

  it('finds a position without any notification', async () => {
    const waiting = models.db.waitForPosition(2, { timeoutMs: 60_000 });
    await models.run('update checkpoint set position = 3');
    await waiting;
  });
});

/** The process ids of the sessions that listen for the read models. */
async function listeners(models: ReadModels): Promise<number[]> {
  const { rows } = await models.run(`
    select pid from pg_stat_activity where datname = current_database() and query = 'listen read_models' and state = 'idle'`);
  return (rows as { pid: number }[]).map(({ pid }) => pid);
}

/** The process id of the session that listens besides those known. */
async function listenerBeside(known: readonly number[], models: ReadModels): Promise<number> {
  return await until('another session listens', async () => (await listeners(models)).find((pid) => !known.includes(pid)));
}
