/**
 * How other processes ask an indexer to record at once how far its chain is, so that an order or a sync that waits for
 * the latest final block does not wait for the indexer's next look. When a request is lost, the asker sends another.
 */
import { createChannel } from '../../engine/log/postgres/channel.js';

export interface AdvanceRequests {
  /** Asks every indexer of the chain. Never fails: the caller looks for the result and asks again. */
  ask(chainId: number): void;
  /** Calls the listener with the id of each chain that is asked for, until `close`. */
  listen(listener: (chainId: number) => void): void;
  close(): Promise<void>;
}

const TIMEOUT_MS = 5_000;

/** Connects at the first use, to the Postgres that the processes share. */
export function createAdvanceRequests({ url }: { readonly url: string }): AdvanceRequests {
  const listeners: ((chainId: number) => void)[] = [];
  const { hear, tell, close } = createChannel({
    url, name: 'advance requests', channel: 'prediction_exchange_advance', connectTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS,
    heard: (text) => { for (const listener of listeners) listener(Number(text)); },
  });
  return {
    ask: (chainId) => { void tell(String(chainId)); },
    listen(listener) {
      listeners.push(listener);
      hear();
    },
    close,
  };
}
