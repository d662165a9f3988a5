/** The log in memory keeps the log's contract, also where every page ends after three records. */
import { AttemptFailed } from '../../engine/log/appender.js';
import {
  createMemoryLog, createMemoryStore, type MemoryLogOptions, type MemoryLink,
} from '../../engine/log/memory/memory-log.js';
import type { Fate, FaultyLink } from '../support/proxies.js';
import { placed } from '../support/log-records.js';
import { logContract, type ContractStore } from './contract.js';

function createMemoryLink(): FaultyLink & { readonly link: MemoryLink } {
  const withheld: (() => void)[] = [];
  let fates: Fate[] = [];
  let refusing = false;
  const failed = (maybeWritten: boolean) => new AttemptFailed(new Error('the link is broken'), { maybeWritten, canPass: true });

  const faulty: FaultyLink & { readonly link: MemoryLink } = {
    async link(attempt) {
      await new Promise(setImmediate);
      if (refusing) throw failed(false);
      const fate = fates.shift() ?? 'pass';
      if (fate !== 'pass') faulty.met();
      switch (fate) {
        case 'pass':
          return attempt();
        case 'cut':
          throw failed(true);
        case 'lose-reply':
          attempt();
          await faulty.replied();
          throw failed(true);
        case 'withhold':
          withheld.push(attempt);
          throw failed(true);
      }
    },
    next(...next) { fates = next; },
    met: () => undefined,
    replied: async () => undefined,
    refuse() { refusing = true; },
    accept() { refusing = false; },
    async release() { for (const attempt of withheld.splice(0)) attempt(); },
    async close() { /* There is nothing to close. */ },
  };
  return faulty;
}

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
