/** Asks an EventStoreDB for the end of a stream: tells whether it answers. It tells no time without a write. */
import type { EventStore } from './client.js';
import { isNotLeader } from './faults.js';
import { parseEventStoreUrl } from './url.js';

export interface EventStoreProbe {
  /** Rejects with the client's error, with NoAnswer after the time limit, or with BadEventStoreUrl for a file of certificates that cannot be read. */
  ask(): Promise<void>;
  close(): Promise<void>;
}

/** Uses one connection of its own, which is made at the first question; its client takes a quarter of a second to load. Throws BadEventStoreUrl. */
export function createEventStoreProbe({ url, timeoutMs }: { readonly url: string; readonly timeoutMs: number }): EventStoreProbe {
  const named = parseEventStoreUrl(url);
  let connected: Promise<EventStore> | undefined;
  const connect = async (): Promise<EventStore> => (await import('./client.js')).connectEventStore(named, { timeoutMs });
  return {
    async ask() {
      const store = await (connected ??= connect());
      await store.length('commands').catch((error: unknown) => {
        if (!isNotLeader(error)) throw error;
        // The client has learnt where the leader is.
        return store.length('commands');
      });
    },
    // What could not be connected has nothing to close.
    close: async () => { await connected?.then((store) => store.close(), () => undefined); },
  };
}
