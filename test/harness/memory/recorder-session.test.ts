/** The recorders' lock in memory keeps the contract of every such lock. */
import { describeRecorderSession } from '../../prices/recorder-session-contract.js';
import { createMemoryTables, memoryStores } from '../stores.js';

describe('who records prices, in memory', () => {
  describeRecorderSession(() => {
    const tables = createMemoryTables();
    return Promise.resolve({
      open: memoryStores(tables, { now: Date.now, standByMs: 5 }).openRecorderSession,
      endSessions() {
        tables.database.restart();
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    });
  });
});
