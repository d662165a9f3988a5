/** `rebuild`: the same rows again from position 0 while the live ones serve and move, compared and swapped; killed anywhere, harmless. */
import assert from 'node:assert/strict';
import type { Outcome } from '../engine/codec.js';
import type { Log } from '../engine/log.js';
import { projections } from '../projections/catalogue.js';
import { DatabaseUnavailable, openSession, type OpenSession } from '../projections/database.js';
import type { Projection } from '../projections/projection.js';
import { rebuild } from '../projections/rebuild.js';
import { testDatabase } from './postgres.js';
import { appendOutcomes, logOf, projectTo, randomOutcomes, readTables, runSql, startWorker, type Rows } from './projected.js';

const LENGTH = 800;

describe('projections: rebuild', () => {
  let url: string;
  let outcomes: Outcome[];
  let log: Log;
  let expected: Rows;

  before(async () => {
    ({ url } = await testDatabase());
    outcomes = randomOutcomes(31, LENGTH);
    log = await logOf(outcomes);
    await projectTo(LENGTH, { url, log });
    expected = await readTables(url);
  });

  beforeEach(async () => {
    await runSql(url, 'drop schema if exists read_models cascade');
    await projectTo(LENGTH, { url, log });
  });

  const shadowsLeft = () => runSql(url, 'do $$ begin assert not exists (select from pg_namespace where nspname like \'rebuild%\'); end $$');

  for (const projection of projections) {
    it(`${projection.name}: identical rows, nothing left behind, readable by the reader`, async () => {
      assert.deepEqual(await rebuild({ url, log, projection }), { position: LENGTH, differingRows: 0 });
      assert.deepEqual(await readTables(url), expected);
      await shadowsLeft();
      const reader = new URL(url);
      reader.searchParams.set('options', '-c role=query_reader');
      assert.deepEqual(await readTables(reader.href), expected);
    });
  }

  it('counts the rows that differ, and puts the right ones in their place', async () => {
    await runSql(url, `
      update read_models.trades set price = price + 1 where number in (1, 2);
      delete from read_models.trades where number = 0;
      update read_models.market_volumes set volume = volume + 1 where market_id = (select min(market_id) from read_models.market_volumes)`);
    const trades = projections.find(({ name }) => name === 'trades')!;
    assert.deepEqual(await rebuild({ url, log, projection: trades, limits: { outcomes: 90, events: 1_000 } }), { position: LENGTH, differingRows: 7 });
    assert.deepEqual(await readTables(url), expected);
  });

  it('goes on while a live worker moves, and the worker goes on after the swap', async () => {
    await runSql(url, 'drop schema read_models cascade');
    const growing = await logOf(outcomes.slice(0, 200));
    const stop = new AbortController();
    let resolveCaughtUp = () => undefined as void;
    const caughtUp = new Promise<void>((resolve) => { resolveCaughtUp = resolve; });
    const run = startWorker({ url, log: growing, signal: stop.signal, limits: { outcomes: 5, events: 1_000 }, onProgress: ({ position }) => {
      if (position === LENGTH) resolveCaughtUp();
      else if (position % 25 === 0 && position >= 200) void appendOutcomes(growing, outcomes.slice(position, position + 25));
    } });
    for (const projection of projections) {
      const { position, differingRows } = await rebuild({ url, log: growing, projection, limits: { outcomes: 50, events: 1_000 } });
      assert.deepEqual({ differingRows, moved: position <= LENGTH }, { differingRows: 0, moved: true });
    }
    await Promise.race([caughtUp, run.done]);
    stop.abort();
    await run.done;
    assert.deepEqual(await readTables(url), expected);
  });

  it('killed on any statement it leaves the live rows, and the next one starts afresh', async () => {
    const orders = projections.find(({ name }) => name === 'orders')!;
    let finished = false;
    for (let lives = 1; !finished; lives += 7) {
      let left = lives;
      const live = async <T>(work: () => Promise<T>): Promise<T> => {
        if (left-- > 0) return work();
        throw new DatabaseUnavailable('killed');
      };
      const open: OpenSession = async (target, schema) => {
        const session = await openSession(target, schema);
        return {
          query: (statement, values) => live(() => session.query(statement, values)), run: (sql) => live(() => session.run(sql)),
          close: () => session.close(),
        };
      };
      finished = await rebuild({ url, log, projection: orders, open, limits: { outcomes: 300, events: 1_000 } }).then(() => true, (error: unknown) => {
        assert.equal((error as Error).name, 'DatabaseUnavailable');
        return false;
      });
      assert.deepEqual(await readTables(url), expected);
    }
    await shadowsLeft();
  });

  it('rebuilds of one projection take turns', async () => {
    const [projection] = projections;
    const twice = await Promise.all([rebuild({ url, log, projection }), rebuild({ url, log, projection })]);
    assert.deepEqual(twice, Array(2).fill({ position: LENGTH, differingRows: 0 }));
    assert.deepEqual(await readTables(url), expected);
  });

  it('the worker rebuilds what is of an older version, and refuses what is of a newer one', async () => {
    const wider: Projection[] = projections.map((projection) => projection.name !== 'markets' ? projection : {
      ...projection, version: 2, tables: [...projection.tables, 'alter table markets add column seen boolean not null default true'],
    });
    await projectTo(LENGTH, { url, log, projections: wider });
    const rows = await readTables(url);
    assert.deepEqual(rows['markets'], expected['markets'].map((row) => ({ ...row, seen: true })));
    assert.deepEqual(rows['projection'][0], { name: 'markets', version: 2, position: String(LENGTH) });
    await assert.rejects(projectTo(LENGTH, { url, log }), { name: 'NewerReadModels' });
  });
});
