/** An audit of read models whose old history is removed: what stays is compared, whether rows that go are there or not. */
import { deepEqual, ok } from 'node:assert/strict';
import { encodeOutcome } from '../../engine/run/new-record.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { audit } from '../../tools/audit/audit.js';
import { linesOfHistory, sourceOf, tradedHistory } from '../support/audited-history.js';
import { appendAll } from '../support/log-records.js';
import { exchangeDatabase } from '../support/postgres.js';
import { projectTo } from '../support/projected.js';
import { removeOnce } from '../support/removed-history.js';
import { runSql } from '../support/sql.js';

describe('an audit of read models without their old history', () => {
  it('passes, and finds a row that should have stayed', async () => {
    const { records } = await tradedHistory();
    const { url } = await exchangeDatabase();
    const log = createMemoryLog();
    await appendAll(log, 'outcomes', records.map(({ id, outcome, digest }) => ({ id, data: encodeOutcome(outcome, digest) })));
    await projectTo(records.length, { url, log });
    const audited = async () => {
      const { difference, checks, notes } = await audit({ source: sourceOf(linesOfHistory(records)), threads: 0, databaseUrl: url });
      return { difference, isTold: notes.some((note) => note.startsWith('the read models keep no history from before position ')), rows: checks.find(({ name }) => name === 'readModels')?.count ?? 0 };
    };
    const all = await audited();
    const { horizon, removed } = await removeOnce({ url, log, keepMs: 0 });
    ok(horizon.fill > 0 && removed > 10, JSON.stringify({ horizon, removed }));
    const kept = await audited();
    deepEqual([all.difference, all.isTold, kept.difference, kept.isTold], [null, false, null, true]);
    ok(kept.rows > 0 && kept.rows < all.rows, `${kept.rows} of ${all.rows} rows are compared`);
    await runSql(url, 'delete from read_models.orders where number = (select max(number) from read_models.orders)');
    deepEqual((await audited()).difference?.place, { table: 'orders' });
  });
});
