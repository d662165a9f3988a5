/** All that is shown of one market and changes: its books, its trades with their settlement, its state. */
import { batch, signal, type Signal } from '@preact/signals';
import type { Market, Resolution, Trade } from '../../../client/src/answers.js';
import { Refusal, type Client, type Message } from '../../../client/src/client.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { exchange, readerFrom } from '../exchange.js';
import { follow } from '../live.js';
import { followedBook, type FollowedBook } from '../live-book.js';
import { stateAfter } from '../market-state.js';
import { spaced, type Spaced } from '../spaced.js';

const TRADES_SHOWN = 40;
/** Lists are read anew at most this often. */
const READ_EVERY_MS = 1_000;

export interface MarketFeed {
  readonly market: Signal<Market | undefined>;
  readonly resolution: Signal<Resolution | undefined>;
  /** The latest first. */
  readonly trades: Signal<readonly Trade[]>;
  /** Counts what candles depend on. */
  readonly traded: Signal<number>;
  readonly live: FollowedBook;
  /** Why the market, or a part of it, is not shown. */
  readonly error: Signal<unknown>;
  close(): void;
}

/** Reads and follows a market. */
export function createMarketFeed(id: Hex): MarketFeed {
  const feed = {
    market: signal<Market | undefined>(undefined), resolution: signal<Resolution | undefined>(undefined),
    trades: signal<readonly Trade[]>([]), traded: signal(0), error: signal<unknown>(undefined), live: followedBook(id),
  };
  const leaving = new AbortController();
  const reads = readsFor(id, feed, leaving.signal);
  let unfollow = (): void => undefined;

  function take(message: Message): void {
    if (message.channel === feed.live.channel) feed.live.take(message);
    else if (message.type === 'trade' || message.type === 'settlement') reads.trades(readerFrom(message.position));
    else if ('marketId' in message && message.marketId === id && stateAfter(message) !== undefined) {
      reads.state(readerFrom(message.position));
    }
  }

  async function begin(): Promise<void> {
    try {
      // A stream of a market that is not there would be refused as a whole.
      feed.market.value = await exchange.peek().read.market(id, { signal: leaving.signal });
    } catch (problem) {
      if (leaving.signal.aborted) return;
      feed.error.value = problem;
      if (!(problem instanceof Refusal)) setTimeout(() => { void begin(); }, READ_EVERY_MS);
      return;
    }
    if (leaving.signal.aborted) return;
    feed.error.value = undefined;
    unfollow = follow({
      channels: [feed.live.channel, `trades:${id}`, 'markets'],
      begins(reader) {
        feed.live.begins();
        reads.trades(reader);
        reads.state(reader);
      },
      take,
    });
  }

  void begin();
  return {
    ...feed,
    close() {
      leaving.abort();
      unfollow();
      feed.live.close();
      reads.stop();
    },
  };
}

interface FeedReads {
  /** Reads the trades soon, so that they include everything that the reader's reads include. */
  trades(from: Client): void;
  /** The same of the market's state and resolution. */
  state(from: Client): void;
  stop(): void;
}

/** What is read anew when the stream has told of a change. */
function readsFor(id: Hex, feed: Omit<MarketFeed, 'live' | 'close'>, left: AbortSignal): FeedReads {
  const options = { signal: left };
  let reader: Client = exchange.peek();
  const reading = (read: () => Promise<void>): Spaced => spaced(async () => {
    try {
      await read();
      feed.error.value = undefined;
    } catch (problem) {
      if (!left.aborted) feed.error.value = problem;
    }
  }, READ_EVERY_MS);
  const trades = reading(async () => {
    const found = await reader.read.trades(id, { ...options, pageSize: TRADES_SHOWN }).take(TRADES_SHOWN);
    batch(() => { [feed.trades.value, feed.traded.value] = [found, feed.traded.peek() + 1]; });
  });
  const state = reading(async () => {
    const [found, resolved] = await Promise.all([reader.read.market(id, options), reader.read.resolution(id, options)]);
    batch(() => { [feed.market.value, feed.resolution.value] = [found, resolved]; });
  });
  const after = (what: Spaced) => (from: Client): void => {
    reader = from;
    what.soon();
  };
  return {
    trades: after(trades), state: after(state),
    stop() {
      trades.stop();
      state.stop();
    },
  };
}
