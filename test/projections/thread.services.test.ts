/** The projections' thread as the service sees it: what its failure does to a stop. */
import assert from 'node:assert/strict';
import { openLog } from '../../engine/log/open-log.js';
import { startProjectionThread } from '../../projections/thread/thread.js';
import { exchangeDatabase, testDatabase } from '../support/postgres.js';
import { appendOutcomes } from '../support/projected.js';
import { runSql } from '../support/sql.js';
import { until } from '../support/until.js';

describe('service: the projections\' thread', () => {
  it('stops at once when it has failed before', async () => {
    const { url } = await testDatabase();
    const thread = startProjectionThread({ url: url.replace(/\/test_\w+$/, '/no_such_database'), logUrl: url, keepHistoryDays: undefined }, () => undefined);
    await assert.rejects(thread.ended, /no_such_database/);
    await thread.stop();
  });

  it('ends without a failure when it is told to', async () => {
    const { url } = await testDatabase();
    const thread = startProjectionThread({ url, logUrl: url, keepHistoryDays: undefined }, () => undefined);
    await thread.started;
    await thread.stop();
    await thread.ended;
  });

  it('removes old history where it is told for how many days to keep it, and else nothing', async () => {
    const { url } = await exchangeDatabase();
    const log = await openLog(url);
    await appendOutcomes(log, [0, 1, 2, 3 * 86_400_000].map((ms) => {
      const at = 1_700_000_000_000 + ms;
      return { at, events: [{ type: 'PriceRecorded', v: 1, asset: 'BTC', rank: 0, source: 'pyth', price: '1', publishedAt: at }] };
    }));
    await log.close();
    const positions = async () => (await runSql<{ position: string }>(url, 'select position from read_models.price_messages order by position'))
      .map(({ position }) => Number(position));
    const forEver = startProjectionThread({ url, logUrl: url, keepHistoryDays: undefined }, () => undefined);
    await until('everything is folded', () => forEver.position === 4);
    await forEver.stop();
    assert.deepEqual([await positions(), forEver.history], [[0, 1, 2, 3], undefined]);
    const twoDays = startProjectionThread({ url, logUrl: url, keepHistoryDays: 2 }, () => undefined);
    await until('old history is removed', () => twoDays.history !== undefined);
    await twoDays.stop();
    // Of an asset the last two messages of before the horizon stay.
    assert.deepEqual([await positions(), twoDays.history], [[1, 2, 3], { from: 3, removedRows: 1 }]);
  });
});
