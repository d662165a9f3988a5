/** Requests to an indexer in another process, over a real Postgres. */
import assert from 'node:assert/strict';
import { createAdvanceRequests, type AdvanceRequests } from '../../command/indexer/advance-requests.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { until } from '../support/until.js';

describe('indexer: requests to advance', () => {
  let database: TestDatabase;
  let asking: AdvanceRequests;
  let hearing: AdvanceRequests;
  let heard: number[];
  before(async () => {
    database = await testDatabase();
    [asking, hearing] = [createAdvanceRequests({ url: database.url }), createAdvanceRequests({ url: database.url })];
    heard = [];
    hearing.listen((chainId) => { heard.push(chainId); });
  });
  after(async () => {
    await Promise.all([asking.close(), hearing.close()]);
    await database.drop();
  });

  /** A request may be lost, so who asks asks again until something comes of it. */
  async function arrives(chainId: number): Promise<void> {
    heard.length = 0;
    await until(`a request about chain ${chainId} arrives`, () => {
      if (heard.includes(chainId)) return true;
      asking.ask(chainId);
      return undefined;
    });
  }

  it('reach who listens, each chain by its id', async () => {
    await arrives(31_337);
    await arrives(1);
    const others = heard.filter((chainId) => chainId !== 1 && chainId !== 31_337); // what was asked for first may still be on its way
    assert.deepEqual(others, []);
  });

  it('reach it again after both connections were cut', async () => {
    await arrives(7);
    const cut = await runSql(database.url, 'select pg_terminate_backend(pid) from pg_stat_activity where application_name = \'advance requests\' and datname = current_database()');
    assert.equal(cut.length, 2);
    await arrives(8);
  });

  it('cost nothing after the end', async () => {
    const gone = createAdvanceRequests({ url: database.url });
    await gone.close();
    gone.ask(1);
  });

  it('never fail, also where there is no database', async () => {
    const lost = createAdvanceRequests({ url: 'postgresql://127.0.0.1:1/none' });
    lost.listen(() => undefined);
    lost.ask(1);
    await lost.close();
  });
});
