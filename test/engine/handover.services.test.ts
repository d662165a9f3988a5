/** How an engine that leaves tells the engines that stand by. */
import { openHandover } from '../../engine/run/handover.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { until } from '../support/until.js';

describe('service: the handover of the outcomes', () => {
  let database: TestDatabase;
  before(async () => { database = await testDatabase(); });
  after(() => database.drop());

  it('a message that is told right after an engine listens reaches it', async () => {
    const [leaving, staying] = [openHandover(database), openHandover(database)];
    try {
      // So that the next message waits for no connection.
      await leaving.tell();
      let isTold = false;
      await staying.listen(() => { isTold = true; });
      await leaving.tell();
      await until('the message', () => isTold, 10);
    } finally {
      await Promise.all([leaving.close(), staying.close()]);
    }
  });

  it('an engine does not wait for a database that is away', async () => {
    const handover = openHandover({ url: 'postgresql://127.0.0.1:1/away' });
    await handover.listen(() => undefined);
    await handover.close();
  });
});
