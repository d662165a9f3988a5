/** The read models in Postgres keep the contract of what roles ask them. */
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { openReadModels } from '../../query/database.js';
import { endedRelaysIn } from '../../query/ended-relays.js';
import { orderReadsIn } from '../../query/order-reads.js';
import { exchangeDatabase } from '../support/postgres.js';
import { appendOutcomes, projectTo } from '../support/projected.js';
import { describeRoleReads } from './role-reads-contract.js';

describe('what roles read in Postgres', () => {
  describeRoleReads(async () => {
    const { url, drop } = await exchangeDatabase();
    const [log, db] = [createMemoryLog(), await openReadModels({ url })];
    return {
      orders: orderReadsIn(db), relays: endedRelaysIn(db),
      async record(outcomes) {
        await appendOutcomes(log, outcomes);
        await projectTo(await log.length('outcomes'), { url, log });
      },
      async close() {
        await db.close();
        await drop();
      },
    };
  });
});
