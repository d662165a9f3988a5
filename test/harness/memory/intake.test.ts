/** The intake's store in memory keeps the contract of every such store. */
import { describeIntake } from '../../settlement/intake-contract.js';
import { createDatabase } from './database.js';
import { createIntakeTables, openMemoryStore } from './intake.js';

describe('simulation: the store of the intake in memory', () => {
  describeIntake(() => {
    const [database, tables] = [createDatabase(), createIntakeTables()];
    const carry = async <T>(_: string, work: () => T) => work();
    return Promise.resolve({
      openStore: (options) => openMemoryStore({ database, tables, carry }, { standByMs: 5, ...options }),
      fills: () => Promise.resolve([...tables.rows.fills.values()]
        .map(({ fill, over }) => ({ fill, ended: over })).sort((a, b) => a.fill - b.fill)),
      barriers: () => Promise.resolve([...tables.rows.barriers.values()].flat().filter((barrier) => barrier !== undefined)),
      partitions: () => Promise.resolve(tables.rows.partitions),
      endSessions() {
        database.restart();
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    });
  });
});
