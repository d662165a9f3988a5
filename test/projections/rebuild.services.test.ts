/** `rebuild`: the same rows again from position 0 while the live ones serve and move, then compared and swapped. */
import assert from 'node:assert/strict';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Log } from '../../engine/log/log.js';
import { projections } from '../../projections/catalogue.js';
import { orders } from '../../projections/models/orders.js';
import { DatabaseUnavailable, openSession, type OpenSession } from '../../projections/database.js';
import type { Projection } from '../../projections/projection.js';
import { rebuild } from '../../projections/rebuild.js';
import { testDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { appendOutcomes, logOf, projectTo, randomOutcomes, readTables, rowsOf, startWorker, type Rows } from '../support/projected.js';

const LENGTH = 800;
const WIDER = projections.find(({ name }) => name === 'markets')!.version + 1;
const SEEN = 'alter table markets add column seen boolean not null default true';

describe('projections: rebuild', () => {
  let url: string;
  let outcomes: CommandOutcome[];
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
    const rebuilt = await rebuild({ url, log, projection: trades, limits: { outcomes: 90, events: 1_000 } });
    assert.deepEqual(rebuilt, { position: LENGTH, differingRows: 7 });
    assert.deepEqual(await readTables(url), expected);
  });

  it('goes on while a live worker moves, and the worker goes on after the swap', async () => {
    await runSql(url, 'drop schema read_models cascade');
    const growing = await logOf(outcomes.slice(0, 200));
    const grow = async (by: number) => {
      const from = await growing.length('outcomes');
      await appendOutcomes(growing, outcomes.slice(from, from + by));
    };
    const stop = new AbortController();
    const at = new Map<number, () => void>();
    const reached = (position: number) => new Promise<void>((resolve) => at.set(position, resolve));
    const [begun, done] = [reached(200), reached(LENGTH)];
    const run = startWorker({
      url, log: growing, signal: stop.signal, limits: { outcomes: 5, events: 1_000 },
      onProgress: ({ position }) => at.get(position)?.(),
    });
    await Promise.race([begun, run.done]);
    for (const projection of projections) {
      let batches = 0;
      const { position, differingRows } = await rebuild({
        url, log: growing, projection, limits: { outcomes: 40, events: 1_000 },
        onProgress: () => { if (batches++ < 6) void grow(10); },
      });
      assert.equal(differingRows, 0);
      assert.ok(batches > 4 && position > 200, `swapped at ${position} after ${batches} batches`);
    }
    await grow(LENGTH);
    await Promise.race([done, run.done]);
    stop.abort();
    await run.done;
    assert.deepEqual(await readTables(url), expected);
  });

  it('makes a live worker forget the rows that were wrong, though its checkpoints have not moved', async () => {
    await runSql(url, 'drop schema read_models cascade');
    const growing = await logOf(outcomes.slice(0, 400));
    const stop = new AbortController();
    const at = new Map<number, () => void>();
    const reached = (position: number) => new Promise<void>((resolve) => at.set(position, resolve));
    const [before, end] = [reached(400), reached(LENGTH)];
    let sessions = 0;
    const run = startWorker({
      url, log: growing, signal: stop.signal, onProgress: ({ position }) => at.get(position)?.(),
      open(...session) {
        sessions += 1;
        return openSession(...session);
      },
    });
    await Promise.race([before, run.done]);
    for (const { name, table, column } of [
      { name: 'orders', table: 'levels', column: 'size' }, { name: 'positions', table: 'positions', column: 'yes_shares' },
    ]) {
      await runSql(url, `update read_models.${table} set ${column} = ${column} + 1`);
      const { differingRows } = await rebuild({ url, log: growing, projection: projections.find((projection) => projection.name === name)! });
      assert.ok(differingRows! > 0, 'nothing was wrong');
    }
    await appendOutcomes(growing, outcomes.slice(400));
    await Promise.race([end, run.done]);
    stop.abort();
    await run.done;
    assert.equal(sessions, 2, 'the rebuilds overtook the worker once: it begins again with a new session');
    assert.deepEqual(await readTables(url), expected);
  });

  it('killed on any statement it leaves the live rows, and the next one starts afresh', async () => {
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
      try {
        await rebuild({ url, log, projection: orders, open, limits: { outcomes: 300, events: 1_000 } });
        finished = true;
      } catch (error) {
        assert.equal((error as Error).name, 'DatabaseUnavailable');
      }
      assert.deepEqual(await readTables(url), expected);
    }
    await shadowsLeft();
  });

  it('rebuilds of one projection take turns', async () => {
    const twice = await Promise.all([rebuild({ url, log, projection: orders }), rebuild({ url, log, projection: orders })]);
    assert.deepEqual(twice, Array(2).fill({ position: LENGTH, differingRows: 0 }));
    assert.deepEqual(await readTables(url), expected);
  });

  it('the worker rebuilds what is of an older version, and refuses what is of a newer one', async () => {
    const wider: Projection[] = projections.map((projection) => projection.name === 'markets' ? { ...projection, version: WIDER, tables: [...projection.tables, SEEN] } : projection);
    await projectTo(LENGTH, { url, log, projections: wider });
    const rows = await readTables(url);
    assert.deepEqual(rows['markets'], rowsOf(expected, 'markets').map((row) => ({ ...row, seen: true })));
    assert.deepEqual(rowsOf(rows, 'projection').find(({ name }) => name === 'markets'), { name: 'markets', version: WIDER });
    assert.deepEqual(rows['checkpoint'], expected['checkpoint']);
    await assert.rejects(projectTo(LENGTH, { url, log }), { name: 'NewerReadModels' });
  });
});
