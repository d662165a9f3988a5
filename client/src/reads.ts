/** Everything that can be read. Answers include what this client has written before (`X-Min-Log-Position`). */
import type {
  Account, ActiveQuickMarket, Candle, Contracts, FailedClaim, FailedTrade, HistoryEntry, HistoryPage, Holder,
  Market, MarketActivityEntry, MarketStatistics, OpenOrder, Order, Orderbook, PastQuickMarket, Payout, PendingClaim,
  PendingTrade, PlatformTotals, Position, PositionSync, PriceCandle, PriceRecord, Resolution, Settlement, Ticker,
  Trade, TradingStatus, UserNonces, UserOpenOrder, UserPosition, UserTrade,
} from './answers.js';
import { hexOf } from './arguments.js';
import type { CallOptions } from './errors.js';
import { postOf } from './orders.js';
import { pagesBy, pagesOf, type PageOptions, type Pages } from './pages.js';
import { marketIdOf, positionOf, type MarketReference, type OnChain, type Query, type Session } from './session.js';
import { listIn } from './transport.js';
import type { Hex, Outcome } from './vocabulary.js';

export interface MarketFilter {
  readonly chainId?: number;
  /** Words of the question. */
  readonly query?: string;
  readonly category?: Market['category'];
  readonly state?: 'open' | 'expired' | 'proposed' | 'disputed' | 'resolved' | 'all';
  readonly sort?: 'newest' | 'expiration' | 'volume';
}

/** Whose, and on which chain; the chain may be left out where there is only one. */
export interface OfUser {
  readonly user: Hex;
  readonly chainId?: number;
}

export interface BookFilter {
  readonly outcome?: Outcome;
  /** The book as it was at this log position. */
  readonly at?: number;
}

export type Interval = '1m' | '5m' | '15m' | '1h' | '1d';

export interface CandleFilter {
  readonly outcome?: Outcome;
  readonly interval?: Interval;
  /** Unix seconds. */
  readonly from?: number;
  readonly to?: number;
}

export interface HistoryFilter {
  /** The first position. */
  readonly from?: number;
  readonly market?: Hex;
  readonly trader?: Hex;
  /** The type of an event, such as `FillMatched`. */
  readonly event?: string;
}

export type Reads = ReturnType<typeof readsOf>;

export function readsOf(session: Session) {
  return {
    /** The configuration: chains, signing domains, limits, the exchange's time. */
    config: (options?: CallOptions) => session.config(options),
    /** Whether orders are taken, and if not, why. */
    status: (options?: CallOptions) => session.get<TradingStatus>('/api/v1/status', {}, options),
    /** The contracts with their ABIs. */
    contracts: (options?: CallOptions) => session.get<Contracts>('/api/v1/contracts', {}, options),
    ...marketReads(session), ...orderReads(session), ...userReads(session), ...settlementReads(session),
    ...priceReads(session),
    history: (filter?: HistoryFilter, options?: PageOptions) => historyOf(session, filter, options),
  };
}

function marketReads(session: Session) {
  const { get, list } = requestsOf(session);
  return {
    markets: ({ chainId, ...filter }: MarketFilter = {}, options?: PageOptions) => (
      list<Market>('/markets', 'markets', { ...filter, chain_id: chainId }, options)),
    market: async (market: MarketReference, options?: CallOptions) => (
      get<Market>(`/markets/${idOf(market)}`, {}, options)),
    orderbook: async (market: MarketReference, { outcome, at }: BookFilter = {}, options?: CallOptions) => (
      get<Orderbook>(`/orderbook/${idOf(market)}`, { outcome, at }, options)),
    ticker: async (market: MarketReference, options?: CallOptions) => (
      get<Ticker>(`/ticker/${idOf(market)}`, {}, options)),
    stats: async (market: MarketReference, options?: CallOptions) => (
      get<MarketStatistics>(`/stats/${idOf(market)}`, {}, options)),
    resolution: async (market: MarketReference, options?: CallOptions) => (
      get<Resolution>(`/resolution/${idOf(market)}`, {}, options)),
    trades: (market: MarketReference, options?: PageOptions) => (
      list<Trade>(`/trades/${idOf(market)}`, 'trades', {}, options)),
    activity: (market: MarketReference, options?: PageOptions) => (
      list<MarketActivityEntry>(`/activity/${idOf(market)}`, 'activity', {}, options)),
    holders: (market: MarketReference, options?: PageOptions) => (
      list<Holder>(`/holders/${idOf(market)}`, 'topHolders', {}, options)),
    candles: (market: MarketReference, filter: CandleFilter = {}, options?: PageOptions) => (
      list<Candle>(`/candles/${idOf(market)}`, 'candles', { ...filter }, options)),
    /** Volumes and numbers of trades, by chain. */
    platformStats: (options?: CallOptions) => get<PlatformTotals>('/platform/stats', {}, options),
  };
}

function orderReads(session: Session) {
  const { get, list, listOfUser } = requestsOf(session);
  return {
    order: async (orderHash: Hex, options?: CallOptions) => (
      get<Order>(`/orders/${hexOf('orderHash', orderHash, 32)}`, {}, options)),
    /** A user's open orders on a chain, with the questions of their markets. */
    openOrders: (of: OfUser, options?: PageOptions) => listOfUser<UserOpenOrder>('orders', 'orders', of, options),
    /** A user's open orders in one market. */
    openOrdersIn: (market: MarketReference, user: Hex, options?: PageOptions) => (
      list<OpenOrder>('/orders', 'orders', { trader: hexOf('user', user, 20), market: idOf(market) }, options)),
  };
}

function userReads(session: Session) {
  const { get, listOfUser, chainIdOf } = requestsOf(session);
  return {
    positions: (of: OfUser, options?: PageOptions) => listOfUser<UserPosition>('positions', 'positions', of, options),
    position: async (market: MarketReference, user: Hex, options?: CallOptions) => (
      get<Position>(`/positions/${idOf(market)}`, { user: hexOf('user', user, 20) }, options)),
    userTrades: (of: OfUser, options?: PageOptions) => listOfUser<UserTrade>('activity', 'activity', of, options),
    payouts: (of: OfUser, options?: PageOptions) => listOfUser<Payout>('activity', 'settlements', of, options),
    /** What a user owns and allows on a chain, and how much of it orders and fills need. */
    account: async ({ user, chainId }: OfUser, options?: CallOptions) => {
      const path = `/users/${hexOf('user', user, 20)}/account`;
      return get<Account>(path, { chain_id: await chainIdOf(chainId, options) }, options);
    },
    /** The nonces that are due of what the relayer sends. */
    nonces: async ({ user, chainId, market }: OfUser & { readonly market?: Hex }, options?: CallOptions) => {
      const path = `/users/${hexOf('user', user, 20)}/nonces`;
      return get<UserNonces>(path, { chain_id: await chainIdOf(chainId, options), market }, options);
    },
    /** Has a user's shares of a market read from the chain. */
    syncPosition: async (market: MarketReference, user: Hex, options?: CallOptions) => {
      const request = postOf(`/api/v1/positions/${idOf(market)}/sync`, { userAddress: hexOf('user', user, 20) });
      return session.send(request, { result: ({ body }) => body as PositionSync }, options);
    },
  };
}

function settlementReads(session: Session) {
  const { get, list } = requestsOf(session);
  return {
    pendingTrades: (options?: PageOptions) => list<PendingTrade>('/pending-trades', 'pendingTrades', {}, options),
    failedTrades: (options?: PageOptions) => list<FailedTrade>('/failed-trades', 'failedTrades', {}, options),
    settlement: async (txHash: Hex, options?: CallOptions) => (
      get<Settlement>(`/settlements/${hexOf('txHash', txHash, 32)}`, {}, options)),
    pendingClaims: (options?: PageOptions) => list<PendingClaim>('/pending-claims', 'pendingClaims', {}, options),
    failedClaims: (options?: PageOptions) => list<FailedClaim>('/failed-claims', 'failedClaims', {}, options),
  };
}

function priceReads(session: Session) {
  const { get, list } = requestsOf(session);
  return {
    quickMarket: (asset: string, { chainId }: OnChain = {}, options?: CallOptions) => (
      get<ActiveQuickMarket>(`/quick-markets/${encodeURIComponent(asset)}`, { chain_id: chainId }, options)),
    quickMarkets: (asset: string, { chainId }: OnChain = {}, options?: PageOptions) => (
      list<PastQuickMarket>(`/quick-markets/${encodeURIComponent(asset)}/history`, 'history', {
        chain_id: chainId,
      }, options)),
    price: (asset: string, options?: CallOptions) => (
      get<PriceRecord>(`/prices/${encodeURIComponent(asset)}`, {}, options)),
    /** The prices of the last twenty minutes. */
    prices: async (asset: string, options?: CallOptions) => {
      const path = `/prices/${encodeURIComponent(asset)}/history`;
      return listIn<PriceRecord>(await session.ask(`/api/v1${path}`, {}, options), 'history');
    },
    priceCandles: (asset: string, filter: Omit<CandleFilter, 'outcome'> = {}, options?: PageOptions) => (
      list<PriceCandle>(`/prices/${encodeURIComponent(asset)}/candles`, 'candles', { ...filter }, options)),
  };
}

/** The history itself: commands and what they caused, by position. */
function historyOf(
  session: Session, { from = 0, ...filter }: HistoryFilter = {}, options: PageOptions = {},
): Pages<HistoryEntry> {
  const { pageSize: limit = 1_000, ...call } = options;
  return pagesBy(async function* () {
    for (let next = from; ;) {
      const answer = await session.ask('/api/v1/events', { ...filter, from: next, limit }, call);
      const [events, { next: after }] = [listIn<HistoryEntry>(answer, 'events'), answer.body as HistoryPage];
      if (events.length > 0) yield events;
      // With a filter, pages may be empty before the end.
      if (after > (positionOf(answer) ?? -1)) return;
      next = after;
    }
  });
}

/** How reads are made. */
function requestsOf(session: Session) {
  const get = <T>(path: string, query: Query, options: CallOptions | undefined) => (
    session.get<T>(`/api/v1${path}`, query, options));
  const list = <T>(path: string, key: string, query: Query, options: PageOptions | undefined): Pages<T> => (
    pagesOf<T>(session, { path: `/api/v1${path}`, query, key }, options));
  const chainIdOf = async (chainId: number | undefined, options: CallOptions | undefined) => (
    (await session.chain(chainId, options)).chainId);
  return {
    get, list, chainIdOf,
    /** A list of a user's on a chain, which is found out when the first page is asked for. */
    listOfUser<T>(what: string, key: string, { user, chainId }: OfUser, options: PageOptions | undefined): Pages<T> {
      const path = `/users/${hexOf('user', user, 20)}/${what}`;
      return pagesBy(async function* () {
        yield* list<T>(path, key, { chain_id: await chainIdOf(chainId, options) }, options).byPage();
      });
    },
  };
}

const idOf = (market: MarketReference): Hex => hexOf('market', marketIdOf(market), 32);
