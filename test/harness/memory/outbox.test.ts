/** The outbox in memory keeps the contract of every outbox, so that what the simulation finds is about the lane and its users. */
import { describeOutbox } from '../../lane/outbox-contract.js';
import { createDatabase } from './database.js';
import { createOutboxTables, memoryLaneUser, memoryOutbox } from './outbox.js';

describe('simulation: the outbox in memory', () => {
  describeOutbox(() => {
    const [database, tables] = [createDatabase(), createOutboxTables()];
    const parts = { database, tables, carry: async <T>(_: string, work: () => T) => work(), now: () => Date.now(), standByMs: 5 };
    return Promise.resolve({
      outbox: memoryOutbox(parts), user: (whose) => memoryLaneUser(parts, whose),
      forgotten: (chainId) => Promise.resolve([...tables.requests.values()].filter((row) => row.chainId === chainId && row.forgotten)
        .map(({ status, data, note }) => [status.kind, data, note])),
      endSessions() {
        database.restart();
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    });
  });
});
