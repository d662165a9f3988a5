/**
 * Prices as they come: one reader of the read model per process, woken when the read models move, hands each price on
 * to all who listen. Each price is encoded once.
 */
import { RequestError } from '../engine/records/errors.js';
import { createBell, pause } from '../engine/waiting.js';
import type { Database } from './database.js';
import { pricesAfter, type StreamedPrice } from './prices.js';

/** What one listener gets. */
export interface Listening {
  /** Server-sent events and comments. Ends with `return()` and when the feed closes. */
  readonly stream: AsyncIterableIterator<Uint8Array>;
  /** Aborts when the listener has fallen behind: its connection is to be cut. */
  readonly cut: AbortSignal;
}

export interface ListenOptions {
  readonly asset: string;
  /** The log position of the last price that the listener has. */
  readonly after?: number | undefined;
  /** Called once, when the listening has ended in whatever way. */
  readonly ended?: () => void;
}

export interface PriceFeed {
  /**
   * Begins with the newest price or, after a position, with the kept prices after it, if there are any. A position that
   * the read models do not reach within 2 s is of another history, and counts for nothing. Throws RequestError
   * `unavailable` when the read models cannot be read.
   */
  listen(options: ListenOptions): Promise<Listening>;
  /** How many listeners have been cut off because they had fallen behind. */
  cutOff(): number;
  /** Ends every listening. */
  close(): Promise<void>;
}

export interface PriceFeedOptions {
  readonly db: Pick<Database, 'rows' | 'waitForPosition'>;
  /** Called with errors that are no RequestError: those of Postgres are reported by the database. */
  readonly onError: (error: unknown) => void;
  /** How many events may wait for a listener, besides those of its beginning. A price comes at most once per second. */
  readonly maxWaiting?: number;
  /** How it pauses between heartbeats, and before it tries again; tests give their own. */
  readonly pause?: typeof pause;
}

/** How long a client should wait before it connects again, in milliseconds. */
const RETRY = Buffer.from('retry: 2000\n\n');
/** A comment. It keeps proxies from closing a silent connection, and shows a client that has gone. */
const HEARTBEAT = Buffer.from(':\n\n');
const HEARTBEAT_MS = 15_000;
/** Twenty minutes of prices, which the read model keeps. */
const KEPT_PER_ASSET = 1_200;
/** The prices are read after this time without news, too: another read model may be the one that is behind. */
const PATIENCE_MS = 30_000;
/** A listener who comes from another process may know more than this one has read. */
const BEHIND_MS = 2_000;
const TRY_AGAIN_MS = 500;

/** Reads nothing before the first listener comes. */
export function createPriceFeed({ db, onError, maxWaiting = 60, pause: rest = pause }: PriceFeedOptions): PriceFeed {
  const stop = new AbortController();
  const audience = createAudience(maxWaiting);
  const reading = createReading(db, audience.send);
  let began: Promise<void> | undefined;
  const running: Promise<void>[] = [];

  const follow = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        const next = { timeoutMs: PATIENCE_MS, signal: stop.signal };
        await db.waitForPosition(reading.reached() + 1, next).catch(unlessPatienceEnded);
        await reading.read();
      } catch (error) {
        if (!(error instanceof RequestError)) onError(error);
        await rest(TRY_AGAIN_MS, stop.signal);
      }
    }
  };

  const beat = async (): Promise<void> => {
    for (;;) {
      await rest(HEARTBEAT_MS, stop.signal);
      if (stop.signal.aborted) return;
      audience.sendToAll(HEARTBEAT);
    }
  };

  const begin = async (): Promise<void> => {
    try {
      await reading.read();
      running.push(follow(), beat());
    } catch (error) {
      began = undefined;
      throw error;
    }
  };

  return {
    async listen({ asset, after, ended }) {
      await (began ??= begin());
      if (after !== undefined) await reading.catchUp(after, stop.signal);
      if (stop.signal.aborted) throw new RequestError('unavailable', 'the service is stopping');
      return audience.add(asset, Buffer.concat([RETRY, ...reading.beginning(asset, after)]), ended);
    },
    cutOff: audience.cutOff,
    async close() {
      stop.abort();
      reading.wake();
      audience.end();
      await began?.catch(() => undefined);
      await Promise.all(running);
    },
  };
}

function unlessPatienceEnded(error: unknown): void {
  if (!(error instanceof RequestError && error.code === 'not_caught_up')) throw error;
}

/** The prices that have been read, each of which goes to `send` once. */
function createReading(db: PriceFeedOptions['db'], send: (asset: string, bytes: Uint8Array) => void) {
  const kept = createKeptPrices();
  const moved = createBell();
  let reached = -1;

  const read = async (): Promise<void> => {
    const { prices, position } = await pricesAfter(db, reached);
    for (const price of prices) {
      const bytes = kept.take(price);
      if (bytes !== undefined) send(price.asset, bytes);
    }
    reached = Math.max(reached, position);
    moved.ring();
  };

  return {
    read,
    /** The log position up to which the prices have been read. */
    reached: () => reached,
    /** Ends each wait of `catchUp` whose signal has aborted. */
    wake: moved.ring,
    /**
     * Waits until this position has been read, or is not to come. Throws RequestError `unavailable` when the read
     * models cannot be read.
     */
    async catchUp(position: number, stop: AbortSignal): Promise<void> {
      const patience = AbortSignal.timeout(BEHIND_MS);
      while (reached < position && !patience.aborted && !stop.aborted) await moved.wait(patience, BEHIND_MS);
      // It is of another history, unless the read models cannot be read.
      if (reached < position && !stop.aborted) await read();
    },
    beginning: (asset: string, after: number | undefined) => kept.beginning(
      asset, after !== undefined && after <= reached ? after : undefined,
    ),
  };
}

/** The prices that a listening can begin with, by asset. */
function createKeptPrices() {
  const byAsset = new Map<string, {
    readonly position: number;
    readonly publishedAtMs: number;
    readonly bytes: Uint8Array;
  }[]>();
  return {
    /**
     * The event of a price. Undefined for one that was published before the one shown: a boundary needed it, but it is
     * not news.
     */
    take({ position, asset, publishedAtMs, data }: StreamedPrice): Uint8Array | undefined {
      const events = byAsset.get(asset) ?? [];
      if (publishedAtMs <= (events.at(-1)?.publishedAtMs ?? -1)) return undefined;
      const bytes = Buffer.from(`id: ${position}\ndata: ${data}\n\n`);
      events.push({ position, publishedAtMs, bytes });
      if (events.length > KEPT_PER_ASSET) events.shift();
      byAsset.set(asset, events);
      return bytes;
    },
    beginning(asset: string, after: number | undefined): Uint8Array[] {
      const events = byAsset.get(asset) ?? [];
      return (after === undefined ? events.slice(-1) : events.filter(({ position }) => position > after))
        .map(({ bytes }) => bytes);
    },
  };
}

/** All listeners, by asset. */
function createAudience(maxWaiting: number) {
  const byAsset = new Map<string, Set<Listener>>();
  const all = (): Listener[] => [...byAsset.values()].flatMap((each) => [...each]);
  let cutOff = 0;
  return {
    add(asset: string, beginning: Uint8Array, ended?: () => void): Listening {
      const own = byAsset.get(asset) ?? new Set();
      byAsset.set(asset, own);
      const listener = createListener(beginning, {
        maxWaiting,
        ended: (isCutOff) => {
          own.delete(listener);
          if (isCutOff) cutOff += 1;
          ended?.();
        },
      });
      own.add(listener);
      return listener;
    },
    send(
      asset: string, bytes: Uint8Array,
    ): void { for (const listener of byAsset.get(asset) ?? []) listener.push(bytes); },
    sendToAll(bytes: Uint8Array): void { for (const listener of all()) listener.push(bytes); },
    cutOff: () => cutOff,
    end(): void { for (const listener of all()) void listener.stream.return?.(); },
  };
}

interface Listener extends Listening {
  push(bytes: Uint8Array): void;
}

function createListener(
  beginning: Uint8Array,
  { maxWaiting, ended }: { readonly maxWaiting: number; readonly ended: (isCutOff: boolean) => void },
): Listener {
  const waiting = [beginning];
  const cut = new AbortController();
  let wake: ((result: IteratorResult<Uint8Array>) => void) | undefined;
  let over = false;

  const end = (): void => {
    if (over) return;
    over = true;
    waiting.length = 0;
    wake?.({ done: true, value: undefined });
    ended(cut.signal.aborted);
  };
  const stream: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => stream,
    next: () => {
      const value = waiting.shift();
      if (value !== undefined) return Promise.resolve({ done: false, value });
      if (over) return Promise.resolve({ done: true, value: undefined });
      return new Promise((resolve) => { wake = resolve; });
    },
    return: () => {
      end();
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  return {
    stream, cut: cut.signal,
    push(bytes) {
      if (over) return;
      if (wake !== undefined) {
        wake({ done: false, value: bytes });
        wake = undefined;
      } else if (waiting.length < maxWaiting) {
        waiting.push(bytes);
      } else {
        cut.abort();
        end();
      }
    },
  };
}
