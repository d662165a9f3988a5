/** The quick market of an asset that runs now: its strike, the asset's price as it comes, and the market's books. */
import { batch, signal, type Signal } from '@preact/signals';
import type { ActiveQuickMarket, PastQuickMarket, PriceRecord } from '../../../client/src/answers.js';
import type { Client, Message } from '../../../client/src/client.js';
import { readerFrom } from '../exchange.js';
import { follow } from '../live.js';
import { createLiveBook, type LiveBook } from '../live-book.js';
import { spaced } from '../spaced.js';

const READ_EVERY_MS = 1_000;
const PAST_SHOWN = 8;

export interface QuickFeed {
  readonly active: Signal<ActiveQuickMarket | undefined>;
  readonly past: Signal<readonly PastQuickMarket[]>;
  readonly price: Signal<Pick<PriceRecord, 'price' | 'timestamp' | 'source'> | undefined>;
  readonly live: Signal<LiveBook | undefined>;
  readonly error: Signal<unknown>;
  /** Looks again: a market has begun or ended, or its strike is due. */
  again(): void;
  close(): void;
}

export function createQuickFeed(asset: string, chainId: number): QuickFeed {
  const [active, past] = [signal<ActiveQuickMarket | undefined>(undefined), signal<readonly PastQuickMarket[]>([])];
  const price: QuickFeed['price'] = signal(undefined);
  const [live, error] = [signal<LiveBook | undefined>(undefined), signal<unknown>(undefined)];
  const leaving = new AbortController();
  let reader: Client = readerFrom(-1);
  let unfollow = (): void => undefined;

  const reading = spaced(async () => {
    const options = { signal: leaving.signal };
    try {
      const [found, before] = await Promise.all([
        reader.read.quickMarket(asset, { chainId }, options), reader.read.quickMarkets(asset, { chainId }, options).take(PAST_SHOWN + 1),
      ]);
      batch(() => { [active.value, error.value] = [found, undefined]; });
      past.value = before.filter(({ marketId }) => marketId !== found.quickMarket?.marketId).slice(0, PAST_SHOWN);
      followBook(found);
    } catch (problem) {
      if (!leaving.signal.aborted) error.value = problem;
    }
  }, READ_EVERY_MS);

  /** Another market runs: its books instead of the last one's. */
  function followBook({ quickMarket }: ActiveQuickMarket): void {
    const channel = quickMarket === null ? undefined : `book:${quickMarket.marketId}`;
    if (leaving.signal.aborted || channel === live.peek()?.channel) return;
    live.peek()?.close();
    live.value = quickMarket === null ? undefined : createLiveBook(quickMarket.marketId);
    begin();
  }

  function take(message: Message): void {
    if (message.type === 'price') price.value = message;
    else if (message.channel === live.peek()?.channel) live.peek()?.take(message);
    else if ('marketId' in message && (message.type === 'opened' ? message.asset === asset : past.peek().some((each) => each.marketId === message.marketId))) {
      reader = readerFrom(message.position);
      reading.soon();
    }
  }

  function begin(): void {
    unfollow();
    const book = live.peek()?.channel;
    unfollow = follow({
      channels: [`prices:${asset}`, 'markets', ...book === undefined ? [] : [book]],
      begins(from) {
        reader = from;
        live.peek()?.begins(from);
        reading.soon();
      },
      take,
    });
  }

  begin();
  reading.soon();
  return {
    active, past, price, live, error, again: () => { reading.soon(); },
    close() {
      leaving.abort();
      unfollow();
      reading.stop();
      live.peek()?.close();
    },
  };
}
