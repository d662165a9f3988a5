/** All that is shown of one market and changes: its books, its trades with their settlement, its state. */
import { batch, signal, type Signal } from '@preact/signals';
import type { Market, Resolution, Trade } from '../../../client/src/answers.js';
import { Refusal, type Client, type Message } from '../../../client/src/client.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { exchange, readerFrom } from '../exchange.js';
import { follow } from '../live.js';
import { createLiveBook, type LiveBook } from '../live-book.js';
import { stateAfter } from '../market-state.js';
import { spaced } from '../spaced.js';

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
  readonly live: LiveBook;
  /** Why the market, or a part of it, is not shown. */
  readonly error: Signal<unknown>;
  close(): void;
}

/** Reads and follows a market. */
export function createMarketFeed(id: Hex): MarketFeed {
  const [market, resolution] = [signal<Market | undefined>(undefined), signal<Resolution | undefined>(undefined)];
  const [trades, traded, error] = [signal<readonly Trade[]>([]), signal(0), signal<unknown>(undefined)];
  const live = createLiveBook(id);
  const leaving = new AbortController();
  const options = { signal: leaving.signal };
  let unfollow = (): void => undefined;
  /** Reads include what the stream has told. */
  let reader: Client = exchange.peek();

  const guarded = (read: () => Promise<void>) => async (): Promise<void> => {
    try {
      await read();
      error.value = undefined;
    } catch (problem) {
      if (!leaving.signal.aborted) error.value = problem;
    }
  };
  const readTrades = spaced(guarded(async () => {
    const found = await reader.read.trades(id, { ...options, pageSize: TRADES_SHOWN }).take(TRADES_SHOWN);
    batch(() => { [trades.value, traded.value] = [found, traded.peek() + 1]; });
  }), READ_EVERY_MS);
  const readState = spaced(guarded(async () => {
    const [found, resolved] = await Promise.all([reader.read.market(id, options), reader.read.resolution(id, options)]);
    batch(() => { [market.value, resolution.value] = [found, resolved]; });
  }), READ_EVERY_MS);

  function take(message: Message): void {
    if (message.channel === live.channel) live.take(message);
    else if (message.type === 'trade' || message.type === 'settlement') {
      reader = readerFrom(message.position);
      readTrades.soon();
    } else if ('marketId' in message && message.marketId === id && stateAfter(message) !== undefined) {
      reader = readerFrom(message.position);
      readState.soon();
    }
  }

  async function begin(): Promise<void> {
    try {
      // A stream of a market that is not there would be refused as a whole.
      market.value = await exchange.peek().read.market(id, options);
    } catch (problem) {
      if (!leaving.signal.aborted) error.value = problem;
      const mayPass = !(problem instanceof Refusal);
      if (mayPass && !leaving.signal.aborted) setTimeout(() => { void begin(); }, READ_EVERY_MS);
      return;
    }
    if (leaving.signal.aborted) return;
    error.value = undefined;
    unfollow = follow({
      channels: [live.channel, `trades:${id}`, 'markets'],
      begins(from) {
        reader = from;
        live.begins(from);
        readTrades.soon();
        readState.soon();
      },
      take,
    });
  }

  void begin();
  return {
    market, resolution, trades, traded, live, error,
    close() {
      leaving.abort();
      unfollow();
      live.close();
      readTrades.stop();
      readState.stop();
    },
  };
}
