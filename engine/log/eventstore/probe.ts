/** Asks an EventStoreDB for the end of a stream: tells whether it answers. It tells no time without a write. */
import { connectEventStore } from './client.js';
import { parseEventStoreUrl } from './url.js';

export interface EventStoreProbe {
  /** Rejects with the client's error, or with NoAnswer after the time limit. */
  ask(): Promise<void>;
  close(): Promise<void>;
}

/** Uses one connection of its own, which is made at the first question. Throws BadEventStoreUrl. */
export function createEventStoreProbe({ url, timeoutMs }: { readonly url: string; readonly timeoutMs: number }): EventStoreProbe {
  const store = connectEventStore(parseEventStoreUrl(url), { timeoutMs });
  return {
    ask: async () => { await store.length('commands'); },
    close: () => store.close(),
  };
}
