/**
 * Tells other processes that a stream has grown, and receives such messages.
 *
 * The message is not part of the append's transaction. Postgres commits transactions that notify one after the other, including the
 * sync to disk, so appends of commands and of outcomes would wait for each other. When a message is lost with its process, followers
 * find the records by polling.
 */
import type { Stream } from '../log.js';
import { createChannel, type Channel } from './channel.js';
import type { ConnectionOptions } from './connection.js';
import { CHANNEL } from './schema.js';

export interface Signals extends Pick<Channel, 'hear' | 'close'> {
  /** Tells the other processes, at once or BETWEEN_MESSAGES_MS after the last message. */
  announce(stream: Stream, length: number): void;
}

export interface SignalsOptions {
  readonly connection: Omit<ConnectionOptions, 'prepare' | 'lost'>;
  readonly grown: (stream: Stream, length: number) => void;
  /** Called after every connection, the first one and each new one: messages may have been lost before. */
  readonly connected: () => void;
}

const MESSAGE = /^(commands|outcomes) (\d{1,16})$/;

/** One message per append would make appends of small batches a third slower. */
const BETWEEN_MESSAGES_MS = 10;

export function createSignals({ connection, grown, connected }: SignalsOptions): Signals {
  const { hear, tell, close } = createChannel({
    ...connection, channel: CHANNEL, connected, betweenMs: BETWEEN_MESSAGES_MS, backoff: { firstMs: 20, longestMs: 2_000 },
    heard(text) {
      const match = MESSAGE.exec(text);
      if (match !== null) grown(match[1] as Stream, Number(match[2]));
    },
  });
  return { hear, close, announce: (stream, length) => { void tell(`${stream} ${length}`, stream); } };
}
