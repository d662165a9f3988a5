/**
 * How other processes ask an indexer to record at once how far its chain is, so that an order or a sync that waits for the latest final
 * block does not wait for the indexer's next look. Requests travel by NOTIFY in a shared Postgres; when one is lost, the asker sends another.
 */
import { createConnection } from '../../engine/log/postgres/connection.js';
import { createStandingConnection } from '../../engine/log/postgres/standing-connection.js';

export interface AdvanceRequests {
  /** Asks every indexer of the chain. Never fails: the caller looks for the result and asks again. */
  ask(chainId: number): void;
  /** Calls the listener with the id of each chain that is asked for, until `close`. */
  listen(listener: (chainId: number) => void): void;
  close(): Promise<void>;
}

const CHANNEL = 'prediction_exchange_advance';
const BACKOFF = { firstMs: 50, longestMs: 2_000 };
const TIMEOUT_MS = 5_000;

/** Connects at the first use. `url` is a direct connection to Postgres: LISTEN does not work through a transaction pooler. */
export function createAdvanceRequests({ url }: { readonly url: string }): AdvanceRequests {
  const closing = new AbortController();
  const listeners: ((chainId: number) => void)[] = [];
  const asked = new Set<number>();
  let asking: Promise<void> | undefined;
  const options = { url, name: 'advance requests', connectTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS };
  const sending = createConnection(options);
  const hearing = createStandingConnection({
    ...options, backoff: BACKOFF,
    async prepare(client) {
      client.on('notification', ({ payload }) => { for (const listener of listeners) listener(Number(payload)); });
      await client.query(`listen ${CHANNEL}`);
    },
  });

  async function send(): Promise<void> {
    try {
      while (asked.size > 0) {
        const chainIds = [...asked];
        asked.clear();
        const client = await sending.get();
        await client.query('select pg_notify($1, chain) from unnest($2::text[]) chain', [CHANNEL, chainIds]);
      }
    } catch {
      sending.drop();
    } finally {
      asking = undefined;
    }
  }

  return {
    ask(chainId) {
      if (closing.signal.aborted) return;
      asked.add(chainId);
      asking ??= send();
    },
    listen(listener) {
      listeners.push(listener);
      hearing.stay();
    },
    async close() {
      closing.abort();
      await asking;
      await Promise.all([sending.end(), hearing.close()]);
    },
  };
}
