/** What is removed from the read models with old history, and that everything else is as without it, whatever comes later. */
import assert from 'node:assert/strict';
import type { CommandOutcome } from '../../engine/records/codec.js';
import { projections } from '../../projections/catalogue.js';
import { DatabaseUnavailable, openSession, type OpenSession } from '../../projections/database.js';
import { NO_HORIZON, writeHorizon, type Horizon } from '../../projections/history/horizon.js';
import { removeHistory } from '../../projections/history/removal.js';
import { stays, SWEEPS } from '../../projections/history/sweeps.js';
import { tableNames } from '../../projections/projection.js';
import { rebuild } from '../../projections/rebuild.js';
import { READ_MODELS } from '../../projections/schema.js';
import { exchangeDatabase } from '../support/postgres.js';
import { appendOutcomes, logOf, projectTo, randomOutcomes, startWorker } from '../support/projected.js';
import { removeOnce, settledAfter } from '../support/removed-history.js';
import { onDatabase, runSql } from '../support/sql.js';

const LENGTH = 1_200;
const STEP = 150;
const AT_ONCE = { firstMs: 0, longestMs: 0 };
/** A book whose history is that long is in test/query/past-orderbook.services.test.ts. */
const SWEPT = SWEEPS.map(({ table }) => table).filter((table) => table !== 'level_history');

/** The rows that stay with the stored horizon, and how many others there are, by table. */
async function staying(url: string): Promise<{ readonly rows: Record<string, string[]>; readonly others: Record<string, number> }> {
  return await onDatabase(url, async (client) => {
    await client.query(`set search_path = ${READ_MODELS}`);
    const [rows, others]: [Record<string, string[]>, Record<string, number>] = [{}, {}];
    for (const table of projections.flatMap(tableNames)) {
      const { rows: found } = await client.query<{ row: string; stays: boolean }>(
        `select t::text as row, ${stays(table)} as stays from ${table} t order by t::text collate "C"`);
      rows[table] = found.flatMap((each) => each.stays ? [each.row] : []);
      others[table] = found.length - rows[table].length;
    }
    return { rows, others };
  });
}

/** The read models of all outcomes without a removal, with this horizon. */
async function whole(outcomes: readonly CommandOutcome[], horizon: Horizon) {
  const { url } = await exchangeDatabase();
  await projectTo(outcomes.length, { url, log: await logOf(outcomes) });
  const session = await openSession(url, READ_MODELS);
  await writeHorizon(horizon, session.query);
  await session.close();
  return staying(url);
}

/** A part of the time from the first outcome to the last one, in whole milliseconds. */
function partOf(outcomes: readonly CommandOutcome[], parts: number): number {
  return Math.floor((outcomes.at(-1)!.at - outcomes[0]!.at) / parts);
}

describe('projections: removal of old history', () => {
  for (const seed of [7, 8]) {
    it(`in rounds while one worker folds: what stays is as without it, and all else is gone (seed ${seed})`, async () => {
      const outcomes = settledAfter(randomOutcomes(seed, LENGTH), 60);
      const keepMs = partOf(outcomes, 4);
      const { url } = await exchangeDatabase();
      const log = await logOf([]);
      const stop = new AbortController();
      const reached: { position: number; then: () => void } = { position: 0, then: () => undefined };
      const worker = startWorker({
        url, log, signal: stop.signal, limits: { outcomes: 40, events: 1_000 }, freshnessMs: 0,
        onProgress: ({ position }) => { if (position >= reached.position) reached.then(); },
      });
      const horizons: Horizon[] = [];
      for (let end = STEP; end <= LENGTH; end += STEP) {
        const folded = new Promise<void>((resolve) => Object.assign(reached, { position: end, then: resolve }));
        await appendOutcomes(log, outcomes.slice(end - STEP, end));
        await Promise.race([folded, worker.done]);
        horizons.push((await removeOnce({ url, log, keepMs })).horizon);
      }
      stop.abort();
      await worker.done;
      const horizon = horizons.at(-1)!;
      assert.deepEqual(horizons, [...horizons].sort((a, b) => a.position - b.position || a.fill - b.fill), 'the horizon goes back');
      assert.ok(horizon.position > LENGTH / 3 && horizon.fill > 20, `only ${JSON.stringify(horizon)}`);
      assert.ok(outcomes[horizon.position]!.at >= outcomes.at(-1)!.at - keepMs && outcomes[horizon.position - 1]!.at < outcomes.at(-1)!.at - keepMs);
      const [removed, expected] = [await staying(url), await whole(outcomes, horizon)];
      assert.deepEqual(removed.rows, expected.rows);
      assert.deepEqual(removed.others, Object.fromEntries(Object.keys(removed.rows).map((table) => [table, 0])));
      const touched = Object.entries(expected.others).flatMap(([table, rows]) => rows > 0 ? [table] : []);
      assert.deepEqual(SWEPT.filter((table) => !touched.includes(table)), [], 'tables of which nothing went');
    });
  }

  it('at the same time as a worker folds, round after round, by two processes', async () => {
    const outcomes = settledAfter(randomOutcomes(12, 600), 40);
    const keepMs = partOf(outcomes, 6);
    const { url } = await exchangeDatabase();
    const log = await logOf(outcomes);
    const stop = new AbortController();
    let rounds = 0;
    const removals = [1, 2].map(() => removeHistory({
      url, log, keepMs, signal: stop.signal, everyMs: 1, restMs: 0, rows: 30, onRound: () => { rounds += 1; },
      report: (level, text) => { if (level !== 'info') throw new Error(text); },
    }));
    await projectTo(outcomes.length, { url, log, limits: { outcomes: 20, events: 1_000 } });
    stop.abort();
    await Promise.all(removals);
    assert.ok(rounds > 2, `only ${rounds} rounds`);
    const { horizon } = await removeOnce({ url, log, keepMs });
    const removed = await staying(url);
    assert.deepEqual([removed.rows, Object.values(removed.others).filter((rows) => rows > 0)], [(await whole(outcomes, horizon)).rows, []]);
  });

  it('goes on where a round was cut off, at any statement', async () => {
    const outcomes = settledAfter(randomOutcomes(9, 500), 40);
    const { url } = await exchangeDatabase();
    const log = await logOf(outcomes);
    await projectTo(outcomes.length, { url, log });
    let deaths = 0;
    let left = 3;
    const open: OpenSession = async (target, schema) => {
      const session = await openSession(target, schema);
      let calls = left++;
      return {
        ...session,
        async query(statement, values) {
          if (--calls > 0) return session.query(statement, values);
          deaths += 1;
          // Every other time the statement was carried out.
          if (deaths % 2 === 0) await session.query(statement, values);
          throw new DatabaseUnavailable('the connection broke');
        },
      };
    };
    const { horizon } = await removeOnce({ url, log, keepMs: partOf(outcomes, 4), open, report: () => undefined, backoff: AT_ONCE });
    assert.ok(deaths > 10, `only ${deaths} deaths`);
    const removed = await staying(url);
    assert.deepEqual(removed.rows, (await whole(outcomes, horizon)).rows);
    assert.deepEqual(Object.values(removed.others).filter((rows) => rows > 0), []);
  });

  it('keeps what a fill needs that is not settled yet, with its whole minute: it may fail at last', async () => {
    const settled = settledAfter(randomOutcomes(10, 600), 40);
    const failed = settled.slice(350).flatMap(({ events }) => events).find((event) => event.type === 'FillSettled')!;
    const outcomes = settled.map(({ at, events }) => ({ at, events: events.filter((event) => event !== failed) }));
    const { url } = await exchangeDatabase();
    const log = await logOf(outcomes);
    await projectTo(outcomes.length, { url, log });
    const { horizon } = await removeOnce({ url, log, keepMs: 1_000 });
    assert.ok(horizon.position > 500 && horizon.fill > 0 && horizon.fill <= failed.fill, `${JSON.stringify(horizon)}, and fill ${failed.fill} is not settled`);
    const late: CommandOutcome = { at: outcomes.at(-1)!.at + 1, events: [
      { ...failed, type: 'FillFailed', txHash: `0x${'12'.repeat(32)}`, reason: 'unknown', culprit: 'buyer' },
    ] };
    await appendOutcomes(log, [late]);
    await projectTo(outcomes.length + 1, { url, log });
    const after = await removeOnce({ url, log, keepMs: 1_000 });
    const [removed, expected] = [await staying(url), await whole([...outcomes, late], after.horizon)];
    assert.deepEqual(removed.rows, expected.rows);
  });

  it('does nothing before anything is old enough, and a rebuild finds no difference afterwards', async () => {
    const outcomes = settledAfter(randomOutcomes(11, 400), 40);
    const { url } = await exchangeDatabase();
    const log = await logOf(outcomes);
    await projectTo(outcomes.length, { url, log });
    assert.deepEqual(await removeOnce({ url, log, keepMs: partOf(outcomes, 1) + 1 }), { horizon: NO_HORIZON, removed: 0 });
    assert.deepEqual(await runSql(url, 'table read_models.history_horizon'), []);
    const { horizon, removed } = await removeOnce({ url, log, keepMs: partOf(outcomes, 4) });
    assert.ok(horizon.position > 0 && removed > 0);
    const kept = await staying(url);
    for (const projection of projections) {
      assert.equal((await rebuild({ url, log, projection })).differingRows, 0, projection.name);
    }
    assert.deepEqual((await staying(url)).rows, kept.rows);
    const again = await removeOnce({ url, log, keepMs: partOf(outcomes, 1) });
    assert.deepEqual([again.horizon, await staying(url)], [horizon, kept], 'what was removed goes again, however much is kept now');
  });
});
