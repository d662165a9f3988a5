/**
 * How an engine that leaves tells the engines that stand by, so that one of them takes over at once: a NOTIFY in the outbox's database. When
 * the message is lost, an engine takes over after its usual time.
 */
import { createConnection } from '../log/postgres/connection.js';
import { createStandingConnection } from '../log/postgres/standing-connection.js';
import { within } from '../waiting.js';

export interface Handover {
  /** Tells the other engines that this one writes no more. Never fails. Resolves when the database has the message, or has not taken it. */
  tell(): Promise<void>;
  /**
   * Calls the listener at each message, until `close`. Resolves when no message is missed any more; also after a time without the database, since
   * an engine takes over without messages, too.
   */
  listen(left: () => void): Promise<void>;
  close(): Promise<void>;
}

const CHANNEL = 'prediction_exchange_engine_left';
const BACKOFF = { firstMs: 50, longestMs: 2_000 };
const TIMEOUT_MS = 2_000;

/** Connects at the first use. `url` is a direct connection to Postgres: LISTEN does not work through a transaction pooler. */
export function openHandover({ url }: { readonly url: string }): Handover {
  const listeners: (() => void)[] = [];
  let isConnected: () => void = () => undefined;
  const connected = new Promise<void>((resolve) => { isConnected = resolve; });
  const options = { url, name: 'engine handover', connectTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS };
  const sending = createConnection(options);
  const hearing = createStandingConnection({
    ...options, backoff: BACKOFF, connected: isConnected,
    async prepare(client) {
      client.on('notification', () => { for (const left of listeners) left(); });
      await client.query(`listen ${CHANNEL}`);
    },
  });
  return {
    async tell() {
      try {
        await (await sending.get()).query(`notify ${CHANNEL}`);
      } catch {
        sending.drop();
      }
    },
    async listen(left) {
      listeners.push(left);
      hearing.stay();
      await within(connected, TIMEOUT_MS);
    },
    async close() { await Promise.all([sending.end(), hearing.close()]); },
  };
}
