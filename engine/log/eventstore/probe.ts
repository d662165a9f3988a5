/**
 * Asks an EventStoreDB, over connections of its own, whether a log in it can be used: for a start, which has no handle
 * on the log yet.
 */
import type { Stream } from '../log.js';
import type { EventStore } from './client.js';
import { parseEventStoreUrl } from './url.js';

export interface EventStoreProbe {
  /** As Log.check. Rejects with BadEventStoreUrl, too, for a file of certificates that cannot be read. */
  ask(): Promise<void>;
  close(): Promise<void>;
}

export interface EventStoreProbeOptions {
  readonly url: string;
  readonly timeoutMs: number;
  /** The streams that must take appends. */
  readonly writes: readonly Stream[];
}

/** Connects at the first question; its client takes a quarter of a second to load. Throws BadEventStoreUrl. */
export function createEventStoreProbe({ url, timeoutMs, writes }: EventStoreProbeOptions): EventStoreProbe {
  const named = parseEventStoreUrl(url);
  let connected: Promise<EventStore> | undefined;
  const connect = async (): Promise<EventStore> => (await import('./client.js')).connectEventStore(named, { timeoutMs });
  return {
    async ask() {
      const store = await (connected ??= connect());
      await store.check({ writes, timeoutMs, known: { commands: 0, outcomes: 0 } });
    },
    // What could not be connected has nothing to close.
    close: async () => { await connected?.then((store) => store.close(), () => undefined); },
  };
}
