/** The faulty link of a log in memory. */
import { AttemptFailed } from '../../engine/log/appender.js';
import type { MemoryLink } from '../../engine/log/memory/memory-log.js';
import type { FaultyLink } from './faulty-link.js';
import type { Fate } from './tcp-proxy.js';

export function createMemoryLink(): FaultyLink & { readonly link: MemoryLink } {
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
