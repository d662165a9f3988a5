/**
 * Tells other processes that a stream has grown, and receives such messages, by LISTEN and NOTIFY on its own connection.
 *
 * The NOTIFY is not part of the append's transaction. Postgres commits transactions that notify one after the other, including the
 * sync to disk, so appends of commands and of outcomes would wait for each other. When a message is lost with its process, followers
 * find the records by polling. So they do on a standby, which passes no messages on and refuses LISTEN until it is promoted.
 */
import { pause } from '../../waiting.js';
import type { Stream } from '../log.js';
import type { Client, ConnectionOptions } from './connection.js';
import { CHANNEL } from './schema.js';
import { askServer } from './server.js';
import { createStandingConnection } from './standing-connection.js';

export interface Signals {
  /** Connects and stays connected, until close(). */
  listen(): void;
  /** Tells the other processes, at once or BETWEEN_MESSAGES_MS after the last message. */
  announce(stream: Stream, length: number): void;
  close(): Promise<void>;
}

export interface SignalsOptions {
  readonly connection: Omit<ConnectionOptions, 'prepare' | 'lost'>;
  readonly grown: (stream: Stream, length: number) => void;
  /** Called after every connection, the first one and each new one: messages may have been lost before. */
  readonly connected: () => void;
}

const LISTEN = `listen ${CHANNEL}`;
const MESSAGE = /^(commands|outcomes) (\d{1,16})$/;
const AFTER_LOST_CONNECTIONS = { firstMs: 20, longestMs: 2_000 };

/** One message per append would make appends of small batches a third slower. */
const BETWEEN_MESSAGES_MS = 10;

/** How often a standby is asked whether it has been promoted. */
const PROMOTION_LOOK_MS = 2_000;

export function createSignals({ connection: options, grown, connected }: SignalsOptions): Signals {
  const closing = new AbortController();
  const announced = new Map<Stream, number>();
  let announcing: Promise<void> | undefined;

  const connection = createStandingConnection({
    ...options, connected, backoff: AFTER_LOST_CONNECTIONS,
    async prepare(client) {
      client.on('notification', ({ payload }) => {
        const match = MESSAGE.exec(payload ?? '');
        if (match !== null) grown(match[1] as Stream, Number(match[2]));
      });
      if ((await askServer(client)).isStandby) void listenOncePromoted(client);
      else await client.query(LISTEN);
    },
  });

  /** Never fails: when the connection is lost, the next one begins again. */
  async function listenOncePromoted(client: Client): Promise<void> {
    try {
      do {
        await pause(PROMOTION_LOOK_MS, closing.signal);
        if (closing.signal.aborted) return;
      } while ((await askServer(client)).isStandby);
      await client.query(LISTEN);
      connected();
    } catch {
      // The connection is lost.
    }
  }

  async function announceAll(): Promise<void> {
    while (announced.size > 0) {
      const messages = [...announced].map(([stream, length]) => `${stream} ${length}`);
      announced.clear();
      try {
        const client = await connection.get();
        await client.query(announcement(messages));
      } catch {
        // Followers in other processes find the records at their next poll.
        break;
      }
      await pause(BETWEEN_MESSAGES_MS, closing.signal);
    }
    announcing = undefined;
  }

  return {
    listen: () => { connection.stay(); },
    announce(stream, length) {
      if (closing.signal.aborted) return;
      announced.set(stream, Math.max(length, announced.get(stream) ?? 0));
      announcing ??= announceAll();
    },
    async close() {
      closing.abort();
      await announcing;
      await connection.close();
    },
  };
}

function announcement(messages: readonly string[]) {
  return { name: 'log_announce', text: 'select pg_notify($1, m) from unnest($2::text[]) m', values: [CHANNEL, messages], query_timeout: 5_000 };
}
