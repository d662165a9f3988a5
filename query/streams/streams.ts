/** The streams of a process: who may have one, how one begins, and how one ends, by server-sent events and by WebSocket alike. */
import type { Log } from '../../engine/log/log.js';
import { RequestError } from '../../engine/records/errors.js';
import type { pause } from '../../engine/waiting.js';
import type { Context, SocketReply, StreamReply } from '../../service/api/endpoint.js';
import { requireAsset } from '../asset.js';
import type { Database } from '../database.js';
import type { Places } from '../places.js';
import { bytes, hex, type Statement } from '../statement.js';
import { createBacklog } from './backlog.js';
import { catchUpParts } from './catch-up.js';
import type { Channel } from './channel.js';
import { createConnection, type StreamConnection } from './connection.js';
import { createConversation } from './conversation.js';
import { createHub } from './hub.js';
import { events, frames, type Form } from './message.js';
import type { Room } from './stream-reader.js';

export interface StreamOptions {
  readonly log: Log;
  readonly db: Pick<Database, 'rows' | 'position' | 'waitForPosition'>;
  readonly places: Places;
  /** The assets that have prices. */
  readonly assets: readonly string[];
  /** Called with errors that end streams and are no RequestError. */
  readonly onError: (error: unknown) => void;
  readonly room?: Room;
  /** How much all readers may leave together. */
  readonly bytesOfAll?: number;
  /** A reader that takes nothing for this long is cut off: of a history, or of its last words. */
  readonly stallMs?: number;
  readonly pause?: typeof pause;
}

export interface StreamQuery {
  readonly channels: readonly Channel[];
  /** The last position that the reader has; -1 for the whole history. Undefined: it begins now. */
  readonly from: number | undefined;
}

export interface Streams {
  /** A stream of server-sent events. */
  readonly follow: (query: StreamQuery, context: Pick<Context, 'ip' | 'signal'>) => Promise<StreamReply>;
  /** A stream by WebSocket, whose client says what it wants. Throws RequestError `overloaded`, `too_many_streams`. */
  readonly converse: (context: Pick<Context, 'ip' | 'signal'>) => SocketReply;
  /** Number of open streams. */
  open(): number;
  /** How many readers have been cut off because they did not read. */
  cutOff(): number;
  /** How many bytes wait for readers, those that several wait for counted once. */
  waiting(): number;
  /** Ends every stream. */
  close(): Promise<void>;
}

/** How long a client should wait before it connects again, in milliseconds. */
const RETRY = Buffer.from('retry: 2000\n\n');
/** For proxies that would otherwise collect an answer before they pass it on. */
const UNBUFFERED = { 'X-Accel-Buffering': 'no' };

export function createStreams({ log, db, places, assets, onError, room, bytesOfAll, stallMs = 30_000, pause }: StreamOptions): Streams {
  const hub = createHub({ log, onError, ...pause && { pause } });
  const parts = catchUpParts({ hub, log, db });
  const backlog = createBacklog(bytesOfAll);
  let open = 0;
  let cutOff = 0;

  const connect = (form: Form, ip: string): StreamConnection => {
    const leave = places.enter(ip);
    open += 1;
    return createConnection({
      form, parts, room, backlog, isFixed: form === events, stallMs, onError, cutOff: () => { cutOff += 1; },
      mustExist: async (channels) => { if (!hub.tells(channels)) await mustExist(channels, { db, assets, length: parts.length }); },
      ended() {
        open -= 1;
        leave();
      },
    });
  };

  return {
    async follow({ channels, from }, { ip, signal }) {
      const { reader, stream, cut, subscribe, end } = connect(events, ip);
      try {
        const position = await subscribe({ channels, from, signal, begun({ first }) {
          reader.give(first === undefined ? RETRY : Buffer.concat([RETRY, events.delivery(first)]));
        } });
        return { stream, cut, position, headers: UNBUFFERED };
      } catch (error) {
        end();
        throw error;
      }
    },
    converse({ ip, signal }) {
      const connection = connect(frames, ip);
      return { stream: connection.stream, cut: connection.cut, conversation: createConversation({ connection, signal, onError }) };
    },
    open: () => open,
    cutOff: () => cutOff,
    waiting: backlog.bytes,
    close: () => hub.close(),
  };
}

const KNOWN: Statement = { name: 'stream_markets_known', text: `select ${hex('market_id')} as id from markets where market_id = any($1::bytea[])` };

interface Existing {
  readonly db: Pick<Database, 'rows' | 'waitForPosition'>;
  readonly assets: readonly string[];
  /** Of the outcomes. */
  readonly length: () => Promise<number>;
}

/**
 * Throws RequestError `unknown_market`, `unknown_asset` for a channel of what there is not, and `not_caught_up` where
 * the read models cannot tell in time: a stream tells of a market before they have it.
 */
async function mustExist(channels: readonly Channel[], { db, assets, length }: Existing): Promise<void> {
  for (const channel of channels) if (channel.kind === 'prices') requireAsset(channel.asset, { assets });
  const markets = [...new Set(channels.flatMap((channel) => 'marketId' in channel ? [channel.marketId] : []))];
  if (markets.length === 0) return;
  const missing = async (): Promise<string | undefined> => {
    const known = new Set((await db.rows<{ id: string }>(KNOWN, [markets.map(bytes)])).map(({ id }) => id));
    return markets.find((market) => !known.has(market));
  };
  if (await missing() === undefined) return;
  await db.waitForPosition(await length() - 1);
  const unknown = await missing();
  if (unknown !== undefined) throw new RequestError('unknown_market', unknown);
}
