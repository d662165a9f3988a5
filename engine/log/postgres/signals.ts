/**
 * Tells other processes that a stream has grown, and hears it from them, by LISTEN and NOTIFY on a connection of its own.
 *
 * The NOTIFY is not part of the append's transaction: Postgres lets transactions that notify commit only one after the other,
 * sync to disk included, so commands and outcomes would wait for each other. A message lost with the process is made up for by
 * polling.
 */
import { pause, retrying } from '../../waiting.js';
import type { Stream } from '../log.js';
import { createConnection, type ConnectionOptions } from './connection.js';
import { CHANNEL } from './schema.js';

export interface Signals {
  /** Connects and stays connected, until close(). */
  listen(): void;
  /** Tells the others, at once or a few milliseconds after the last message. */
  announce(stream: Stream, length: number): void;
  close(): Promise<void>;
}

export interface SignalsOptions {
  readonly connection: Omit<ConnectionOptions, 'prepare' | 'lost'>;
  readonly grown: (stream: Stream, length: number) => void;
  /** Connected, for the first time or again: messages may have been missed. */
  readonly connected: () => void;
}

const MESSAGE = /^(commands|outcomes) (\d{1,16})$/;
const AFTER_LOST_CONNECTIONS = { firstMs: 20, longestMs: 2_000 };

/** One message per append would cost a small batch a third of its speed. */
const BETWEEN_MESSAGES_MS = 10;

export function createSignals({ connection: options, grown, connected }: SignalsOptions): Signals {
  const closing = new AbortController();
  const announced = new Map<Stream, number>();
  let announcing: Promise<void> | undefined;
  let listening: Promise<void> | undefined;

  const connection = createConnection({
    ...options,
    async prepare(client) {
      client.on('notification', ({ payload }) => {
        const match = MESSAGE.exec(payload ?? '');
        if (match !== null) grown(match[1] as Stream, Number(match[2]));
      });
      await client.query(`listen ${CHANNEL}`);
    },
    lost() { if (listening !== undefined) reconnect(); },
  });

  function reconnect(): void {
    listening = connectUntilDone();
  }

  async function connectUntilDone(): Promise<void> {
    const connect = async (): Promise<void> => {
      await connection.get();
      connected();
    };
    // It ends by an error only when this closes.
    await retrying(connect, { backoff: AFTER_LOST_CONNECTIONS, signal: closing.signal, canPass: () => true }).catch(() => undefined);
  }

  async function announceAll(): Promise<void> {
    while (announced.size > 0) {
      const messages = [...announced].map(([stream, length]) => `${stream} ${length}`);
      announced.clear();
      try {
        const client = await connection.get();
        await client.query(announcement(messages));
      } catch {
        // Followers elsewhere find it at their next poll.
        break;
      }
      await pause(BETWEEN_MESSAGES_MS, closing.signal);
    }
    announcing = undefined;
  }

  return {
    listen() { if (listening === undefined) reconnect(); },
    announce(stream, length) {
      if (closing.signal.aborted) return;
      announced.set(stream, Math.max(length, announced.get(stream) ?? 0));
      announcing ??= announceAll();
    },
    async close() {
      closing.abort();
      await announcing;
      await listening;
      await connection.end();
    },
  };
}

function announcement(messages: readonly string[]) {
  return { name: 'log_announce', text: 'select pg_notify($1, m) from unnest($2::text[]) m', values: [CHANNEL, messages], query_timeout: 5_000 };
}
