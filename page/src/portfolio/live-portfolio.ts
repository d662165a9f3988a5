/** All that a trader has on a chain, kept live by the trader's own channel and the books of what is held. */
import { effect, signal, untracked, type ReadonlySignal } from '@preact/signals';
import type { FailedClaim, FailedTrade, Payout, PendingClaim, Resolution, UserPosition, UserTrade } from '../../../client/src/answers.js';
import type { Book } from '../../../client/src/book.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { readerFrom } from '../exchange.js';
import { follow } from '../live.js';
import { followedBook, type FollowedBook } from '../live-book.js';
import { followAccount, type LiveAccount } from './live-account.js';
import { pagedList, type PagedList } from './live-lists.js';

export interface LivePortfolio extends LiveAccount {
  readonly positions: PagedList<UserPosition>;
  readonly trades: PagedList<UserTrade>;
  readonly failedTrades: PagedList<FailedTrade>;
  readonly payouts: PagedList<Payout>;
  readonly pendingClaims: PagedList<PendingClaim>;
  readonly failedClaims: PagedList<FailedClaim>;
  /** The books of the open markets in which something is held, by market; of the first forty. */
  readonly books: ReadonlySignal<ReadonlyMap<Hex, ReadonlySignal<Book | undefined>>>;
  /** How resolved markets were decided. */
  readonly resolutions: ReadonlySignal<ReadonlyMap<Hex, Resolution>>;
}

const PAGE_SIZE = 25;
/** Of everybody's entries, few are the user's: a page looks further. */
const LOOK_SIZE = 200;
/** A stream has up to 50 channels. */
const MOST_BOOKS = 40;
const SHOW_EVERY_MS = 500;

export function followPortfolio(user: Hex, chainId: number): LivePortfolio {
  const of = { user, chainId };
  const isTraders = (trade: FailedTrade): boolean => trade.buyerAddress === user || trade.sellerAddress === user;
  const isClaimers = ({ userAddress }: PendingClaim): boolean => userAddress === user;
  const isHeld = ({ yesShares, noShares }: UserPosition): boolean => yesShares > 0n || noShares > 0n;
  const lists = {
    positions: pagedList(({ read }, pageSize) => read.positions(of, { pageSize }), PAGE_SIZE, isHeld),
    trades: pagedList(({ read }, pageSize) => read.userTrades(of, { pageSize }), PAGE_SIZE),
    failedTrades: pagedList(({ read }, pageSize) => read.failedTrades({ pageSize }), LOOK_SIZE, isTraders),
    payouts: pagedList(({ read }, pageSize) => read.payouts(of, { pageSize }), PAGE_SIZE),
    pendingClaims: pagedList(({ read }, pageSize) => read.pendingClaims({ pageSize }), LOOK_SIZE, isClaimers),
    failedClaims: pagedList(({ read }, pageSize) => read.failedClaims({ pageSize }), LOOK_SIZE, isClaimers),
  };
  const all = Object.values(lists) as PagedList<unknown>[];
  const account = followAccount(user, chainId, (reader) => { for (const list of all) list.again(reader); });
  const live = signal<ReadonlyMap<Hex, FollowedBook>>(new Map());
  const books = signal<ReadonlyMap<Hex, ReadonlySignal<Book | undefined>>>(new Map());
  const resolutions = signal<ReadonlyMap<Hex, Resolution>>(new Map());
  let unfollowBooks = (): void => undefined;

  function followBooks(wanted: readonly Hex[]): void {
    const before = live.peek();
    if (wanted.length === before.size && wanted.every((id) => before.has(id))) return;
    unfollowBooks();
    for (const book of before.values()) book.close();
    const next = new Map(wanted.map((id) => [id, followedBook(id, SHOW_EVERY_MS)] as const));
    live.value = next;
    books.value = new Map([...next].map(([id, { book }]) => [id, book]));
    const byChannel = new Map([...next.values()].map((book) => [book.channel, book]));
    unfollowBooks = wanted.length === 0
      ? () => undefined
      : follow({
          channels: [...byChannel.keys()],
          begins() { for (const book of byChannel.values()) book.begins(); },
          take(message) { byChannel.get(message.channel)?.take(message); },
        });
  }

  async function readResolution(id: Hex): Promise<void> {
    const found = await readerFrom(-1).read.resolution(id).catch(() => undefined);
    if (found?.resolved === true) resolutions.value = new Map(resolutions.peek()).set(id, found);
  }

  const unseen = effect(() => {
    const held = lists.positions.rows.value;
    untracked(() => {
      followBooks(held.filter(({ resolved }) => !resolved).slice(0, MOST_BOOKS).map(({ marketId }) => marketId));
      for (const { marketId, resolved } of held) if (resolved && !resolutions.peek().has(marketId)) void readResolution(marketId);
    });
  });
  return {
    ...account, ...lists, books, resolutions,
    close() {
      unseen();
      unfollowBooks();
      for (const book of live.peek().values()) book.close();
      for (const list of all) list.close();
      account.close();
    },
  };
}
