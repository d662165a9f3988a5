/** Nonces of orders that rise across reloads and tabs, whatever the clock does, as long as the browser keeps anything. */
import type { NonceStore } from '../../../client/src/nonces.js';
import { keep, readKept } from './browser-storage.js';

const nameOf = (trader: string): string => `nonce:${trader.toLowerCase()}`;

/** Where nothing is kept, or rubbish, the clock makes them rise. */
export function keptNonces(): NonceStore {
  const load = (trader: string): bigint | undefined => {
    const kept = readKept(nameOf(trader));
    return kept !== undefined && /^\d{1,16}$/.test(kept) ? BigInt(kept) : undefined;
  };
  return {
    load: (trader) => Promise.resolve(load(trader)),
    save(trader, nonce) {
      // Another tab may be further.
      if (nonce > (load(trader) ?? -1n)) keep(nameOf(trader), nonce.toString());
      return Promise.resolve();
    },
  };
}
