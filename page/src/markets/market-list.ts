/** The markets of one page of the list, with live best prices: pages by cursor, of which one is here at a time. */
import { batch, signal, type Signal } from '@preact/signals';
import type { Market } from '../../../client/src/answers.js';
import type { Message } from '../../../client/src/client.js';
import type { MarketFilter } from '../../../client/src/reads.js';
import { exchange } from '../exchange.js';
import { follow } from '../live.js';
import { followedBook, type FollowedBook } from '../live-book.js';
import { stateAfter } from '../market-state.js';

/** A stream has up to 50 channels, and other parts of the page need some. */
const PAGE_SIZE = 25;
/** A row of the list shows the best prices alone, which are read less often than a ladder. */
const SHOW_EVERY_MS = 500;

export interface ListedRow {
  readonly market: Market;
  /** Absent of a market that nobody can trade any more. */
  readonly live: FollowedBook | undefined;
}

export interface MarketList {
  readonly rows: Signal<readonly ListedRow[]>;
  readonly status: Signal<'reading' | 'read'>;
  readonly error: Signal<unknown>;
  /** The number of the page that is shown, from 0. */
  readonly page: Signal<number>;
  readonly hasNext: Signal<boolean>;
  /** Markets that have opened since the page was read. */
  readonly opened: Signal<number>;
  show(filter: MarketFilter): void;
  next(): void;
  previous(): void;
  /** Reads the first page again. */
  again(): void;
  close(): void;
}

export function createMarketList(): MarketList {
  const list = {
    rows: signal<readonly ListedRow[]>([]), status: signal<'reading' | 'read'>('reading'),
    error: signal<unknown>(undefined), page: signal(0), hasNext: signal(false), opened: signal(0),
  };
  const { status, error, page, hasNext, opened } = list;
  let filter: MarketFilter = {};
  /** The pages that have been read, and where the next one comes from. */
  let pages: (readonly Market[])[] = [];
  let source: AsyncIterator<readonly Market[]> | undefined;
  let leaving = new AbortController();
  let letGo = (): void => undefined;

  async function read(index: number): Promise<void> {
    const { signal: left } = leaving;
    batch(() => { [status.value, error.value] = ['reading', undefined]; });
    try {
      // One page ahead, so that it is known whether there is a next one.
      while (pages.length <= index + 1 && source !== undefined) {
        const { done, value } = await source.next();
        if (left.aborted) return;
        if (done === true) source = undefined; else pages.push(value);
      }
      letGo();
      batch(() => {
        [page.value, hasNext.value, status.value] = [index, pages.length > index + 1, 'read'];
        letGo = put(list, pages[index] ?? []);
      });
    } catch (problem) {
      if (left.aborted) return;
      batch(() => { [status.value, error.value] = ['read', problem]; });
    }
  }

  function begin(): void {
    leaving.abort();
    leaving = new AbortController();
    [pages, opened.value] = [[], 0];
    const found = exchange.peek().read.markets(filter, { pageSize: PAGE_SIZE, signal: leaving.signal });
    source = found.byPage()[Symbol.asyncIterator]();
    void read(0);
  }

  return {
    ...list,
    show(wanted) {
      filter = wanted;
      begin();
    },
    next: () => { void read(page.peek() + 1); },
    previous: () => { void read(Math.max(0, page.peek() - 1)); },
    again: begin,
    close() {
      leaving.abort();
      letGo();
    },
  };
}

/** Shows markets, and follows their books and states until the returned function is called. */
function put({ rows, opened }: Pick<MarketList, 'rows' | 'opened'>, markets: readonly Market[]): () => void {
  const shown = markets.map((market): ListedRow => (
    { market, live: market.resolved ? undefined : followedBook(market.id, SHOW_EVERY_MS) }));
  const books = new Map(shown.flatMap(({ live }) => live === undefined ? [] : [[live.channel, live] as const]));
  rows.value = shown;
  const changed = (message: Message): void => {
    if (message.type === 'opened') opened.value += 1;
    const state = stateAfter(message);
    if (state === undefined || !('marketId' in message)) return;
    rows.value = rows.peek().map((row) => row.market.id === message.marketId
      ? { ...row, market: { ...row.market, state, resolved: state === 'resolved' } }
      : row);
  };
  const unfollow = follow({
    channels: ['markets', ...books.keys()],
    begins: () => { for (const live of books.values()) live.begins(); },
    take: (message) => {
      const live = books.get(message.channel);
      if (live === undefined) changed(message); else live.take(message);
    },
  });
  return () => {
    unfollow();
    for (const live of books.values()) live.close();
  };
}
