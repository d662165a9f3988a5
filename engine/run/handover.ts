/**
 * How an engine that leaves tells the engines that stand by, so that one of them takes over at once. When the message
 * is lost, an engine takes over after its usual time.
 */
import { createChannel } from '../log/postgres/channel.js';
import { within } from '../waiting.js';

export interface Handover {
  /**
   * Tells the other engines that this one writes no more. Never fails. Resolves when the database has the message, or
   * has not taken it.
   */
  tell(): Promise<void>;
  /**
   * Calls the listener at each message, until `close`. Resolves when no message is missed any more; also after a time
   * without the database, since an engine takes over without messages, too.
   */
  listen(left: () => void): Promise<void>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 2_000;

/** Connects at the first use, to the outbox's Postgres. */
export function openHandover({ url }: { readonly url: string }): Handover {
  const listeners: (() => void)[] = [];
  let isConnected: () => void = () => undefined;
  const connected = new Promise<void>((resolve) => { isConnected = resolve; });
  const { hear, tell, close } = createChannel({
    url, name: 'engine handover', channel: 'prediction_exchange_engine_left', connectTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS,
    connected: isConnected, heard: () => { for (const left of listeners) left(); },
  });
  return {
    tell: () => tell(''),
    async listen(left) {
      listeners.push(left);
      hear();
      await within(connected, TIMEOUT_MS);
    },
    close,
  };
}
