/** The streams of a process, by server-sent events: who may have one, how one begins, and how one ends. */
import type { Log } from '../../engine/log/log.js';
import { LogUnavailable } from '../../engine/log/log.js';
import { RequestError } from '../../engine/records/errors.js';
import type { pause } from '../../engine/waiting.js';
import type { Context, StreamReply } from '../../service/api/endpoint.js';
import { clientText } from '../../service/api/errors.js';
import { requireAsset } from '../asset.js';
import type { Database } from '../database.js';
import type { Places } from '../places.js';
import { bytes, hex, type Statement } from '../statement.js';
import { unlessLogAway } from '../unless-log-away.js';
import { beginAt, catchUpParts, type Beginning } from './catch-up.js';
import type { Channel } from './channel.js';
import { createEventReader, type EventReader, type Room } from './event-reader.js';
import { createHub } from './hub.js';
import { Heartbeat, type Ending } from './message.js';

export interface StreamOptions {
  readonly log: Log;
  readonly db: Pick<Database, 'rows' | 'position' | 'waitForPosition'>;
  readonly places: Places;
  /** The assets that have prices. */
  readonly assets: readonly string[];
  /** Called with errors that end streams and are no RequestError. */
  readonly onError: (error: unknown) => void;
  readonly room?: Room;
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
  readonly follow: (query: StreamQuery, context: Pick<Context, 'ip' | 'signal'>) => Promise<StreamReply>;
  /** Number of open streams. */
  open(): number;
  /** How many readers have been cut off because they did not read. */
  cutOff(): number;
  /** Ends every stream. */
  close(): Promise<void>;
}

/** How long a client should wait before it connects again, in milliseconds. */
const RETRY = Buffer.from('retry: 2000\n\n');
/** For proxies that would otherwise collect an answer before they pass it on. */
const UNBUFFERED = { 'X-Accel-Buffering': 'no' };

export function createStreams({ log, db, places, assets, onError, room, stallMs = 30_000, pause }: StreamOptions): Streams {
  const hub = createHub({ log, onError, ...pause && { pause } });
  const parts = catchUpParts({ hub, log, db });
  let open = 0;
  let cutOff = 0;

  return {
    follow: ({ channels, from }, { ip, signal }) => unlessLogAway(async () => {
      const leave = places.enter(ip);
      open += 1;
      let beginning: Beginning | undefined;
      let isOver = false;
      const ended = (): void => {
        if (isOver) return;
        isOver = true;
        open -= 1;
        beginning?.leave();
        leave();
      };
      try {
        if (!hub.tells(channels)) await mustExist(channels, { db, assets });
        const cut = new AbortController();
        const cutSoon = (): void => {
          cutOff += 1;
          setTimeout(() => { cut.abort(); }, stallMs).unref();
        };
        const reader = createEventReader({ cutOff: cutSoon, ended, room });
        beginning = await beginAt(parts, { channels, from, signal }, reader);
        const pieces = eventsOf({ beginning, isNew: from === undefined, reader, ended, onError });
        return { stream: hurried(pieces, { stallMs, cut }), cut: cut.signal, position: beginning.position, headers: UNBUFFERED };
      } catch (error) {
        ended();
        throw error;
      }
    }),
    open: () => open,
    cutOff: () => cutOff,
    close: () => hub.close(),
  };
}

const KNOWN: Statement = { name: 'stream_markets_known', text: `select ${hex('market_id')} as id from markets where market_id = any($1::bytea[])` };

/** Throws RequestError `unknown_market`, `unknown_asset` for a channel of what there is not. */
export async function mustExist(
  channels: readonly Channel[], { db, assets }: { readonly db: Pick<Database, 'rows'>; readonly assets: readonly string[] },
): Promise<void> {
  for (const channel of channels) if (channel.kind === 'prices') requireAsset(channel.asset, { assets });
  const markets = [...new Set(channels.flatMap((channel) => 'marketId' in channel ? [channel.marketId] : []))];
  if (markets.length === 0) return;
  const known = new Set((await db.rows<{ id: string }>(KNOWN, [markets.map(bytes)])).map(({ id }) => id));
  const unknown = markets.find((market) => !known.has(market));
  if (unknown !== undefined) throw new RequestError('unknown_market', unknown);
}

interface Parts {
  readonly beginning: Beginning;
  /** Whether the reader begins now, and has no position yet. */
  readonly isNew: boolean;
  readonly reader: EventReader;
  readonly ended: () => void;
  readonly onError: (error: unknown) => void;
}

/** The pieces of a stream: its beginning, what the log has, and what comes. */
function eventsOf({ beginning, isNew, reader, ended, onError }: Parts): Pieces {
  const { first, position, deliveries } = beginning;
  let begins: Uint8Array | undefined = Buffer.concat([
    RETRY, ...first === undefined ? [] : [first.events], ...isNew ? [new Heartbeat(position).comment] : [],
  ]);
  let isCatchingUp = true;

  const nextOfLog = async (): Promise<IteratorResult<Uint8Array>> => {
    const result = await deliveries.next().catch((error: unknown) => {
      reader.end(endingOf(error, onError));
      return undefined;
    });
    if (result !== undefined && result.done !== true) return { done: false, value: result.value.events };
    isCatchingUp = false;
    return reader.next();
  };
  return {
    isCatchingUp: () => isCatchingUp,
    next() {
      if (begins !== undefined) {
        const value = begins;
        begins = undefined;
        return Promise.resolve({ done: false, value });
      }
      return isCatchingUp ? nextOfLog() : reader.next();
    },
    return() {
      ended();
      return Promise.resolve({ done: true, value: undefined });
    },
  };
}

interface Pieces {
  isCatchingUp(): boolean;
  next(): Promise<IteratorResult<Uint8Array>>;
  return(): Promise<IteratorResult<Uint8Array>>;
}

/** The same pieces; while they come from the log, `cut` aborts when nobody has asked for the next one for a while. */
function hurried(pieces: Pieces, { stallMs, cut }: { readonly stallMs: number; readonly cut: AbortController }): AsyncIterableIterator<Uint8Array> {
  let stalled: NodeJS.Timeout | undefined;
  const stream: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => stream,
    next: () => {
      clearTimeout(stalled);
      if (!pieces.isCatchingUp()) return pieces.next();
      return pieces.next().then((result) => {
        if (result.done !== true && pieces.isCatchingUp()) stalled = setTimeout(() => { cut.abort(); }, stallMs).unref();
        return result;
      });
    },
    return: () => {
      clearTimeout(stalled);
      return pieces.return();
    },
  };
  return stream;
}

/** What a reader is told of an error after the beginning. */
export function endingOf(error: unknown, onError: (error: unknown) => void): Ending {
  if (error instanceof RequestError) return { code: error.code, text: clientText(error) };
  if (error instanceof LogUnavailable) return { code: 'unavailable', text: 'the log cannot be read at the moment; connect again, with the last position' };
  onError(error);
  return { code: 'internal', text: 'an unexpected error; it has been logged' };
}
