/** The read models in memory keep the contract of what roles ask the read models. */
import { createMemoryLog, createMemoryStore } from '../../../engine/log/memory/memory-log.js';
import { describeRoleReads } from '../../query/role-reads-contract.js';
import { appendOutcomes } from '../../support/projected.js';
import { createMemoryReads } from './reads.js';

describe('what roles read in memory', () => {
  describeRoleReads(() => {
    const store = createMemoryStore();
    const reads = createMemoryReads({ outcomes: () => store.records.outcomes });
    return Promise.resolve({
      orders: reads, relays: reads, record: (outcomes) => appendOutcomes(createMemoryLog(store), outcomes), close: () => Promise.resolve(),
    });
  });
});
