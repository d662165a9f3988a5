/** Asks an EventStoreDB for the end of a stream: tells whether it answers. It tells no time without a write. */
import { connectEventStore } from './client.js';
import { isNotLeader } from './faults.js';
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
    async ask() {
      await store.length('commands').catch((error: unknown) => {
        if (!isNotLeader(error)) throw error;
        // The client has learnt where the leader is.
        return store.length('commands');
      });
    },
    close: () => store.close(),
  };
}
