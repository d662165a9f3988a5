/** The log in memory keeps the log's contract, also where every page ends after three records. */
import { createMemoryLog, createMemoryStore, type MemoryLogOptions } from '../../engine/log/memory/memory-log.js';
import { placed } from '../support/log-records.js';
import { createMemoryLink } from '../support/memory-link.js';
import { logContract, type ContractStore } from './contract.js';

async function memory(options: MemoryLogOptions = {}): Promise<ContractStore> {
  const store = createMemoryStore();
  return {
    open: async () => createMemoryLog(store, options),
    async openFaulty(asked) {
      const link = createMemoryLink();
      return { log: createMemoryLog(store, { ...options, ...asked, link: link.link }), link };
    },
    remove: async () => undefined,
    async forget(from, others = []) {
      store.records.commands.splice(from, Infinity, ...placed(from, others));
      store.grown.ring();
    },
  };
}

logContract('memory', () => memory(), { forgets: true });
logContract('memory, in pages of three records', () => memory({ pageRecords: 3 }), { forgets: true });
