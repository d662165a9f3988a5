/** The handlers of the reads, bound to the read models, the log and the clock. */
import { RequestError } from '../../engine/records/errors.js';
import type { Log } from '../../engine/log/log.js';
import type { Database } from '../../query/database.js';
import { failedClaims, pendingClaims } from '../../query/claims.js';
import { markets, marketStats, platformStats } from '../../query/markets.js';
import { orderbook } from '../../query/orders/orderbook.js';
import { pastOrderbook } from '../../query/orders/past-orderbook.js';
import { ordersOfTrader, ordersOfUser } from '../../query/orders/orders.js';
import { holders, position, positionsOfUser } from '../../query/positions.js';
import { newestPrice, priceHistory, type SourceUrls } from '../../query/prices.js';
import { activeQuickMarket, quickMarketHistory } from '../../query/quick-markets.js';
import { failedTrades, pendingTrades, settlementOfTransaction } from '../../query/settlements.js';
import { activityOfMarket, tradesOfMarket, userActivity } from '../../query/trades.js';
import { createTurns } from '../../query/turns.js';
import type { ReadHandlers } from '../api/endpoints.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { unlessLogAway, type History } from './handlers/history.js';
import type { PriceStreams } from './handlers/price-stream.js';
import { createResolution } from './handlers/resolution.js';

export interface QueryParts {
  readonly db: Database;
  readonly log: Log;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** The assets that have prices. */
  readonly assets: readonly string[];
  readonly sourceUrls: SourceUrls;
  readonly streams: PriceStreams;
  readonly history: History;
  readonly chains: ReadonlyMap<number, Pick<ChainAccess, 'chain' | 'clientRpc'>>;
}

export function createQueries({ db, log, now, assets, sourceUrls, streams, history, chains }: QueryParts): ReadHandlers {
  const nowS = () => Math.floor(now() / 1_000);
  // Two of the read models' connections at most: a past book with many levels takes long.
  const pastBooks = { db, log, turns: createTurns(2, 100), now };
  /** The asset that was asked for. Throws RequestError `unknown_asset`. */
  const known = <Asked extends { readonly asset: string }>(asked: Asked): Asked => {
    if (!assets.includes(asked.asset)) throw new RequestError('unknown_asset', `it has those of ${assets.join(', ') || 'no asset'}`);
    return asked;
  };
  return {
    listOrders: (asked) => ordersOfTrader(db, asked),
    listUserOrders: (asked) => ordersOfUser(db, asked),
    listUserPositions: (asked) => positionsOfUser(db, asked),
    getUserActivity: (asked) => userActivity(db, asked),
    getPosition: (asked) => position(db, asked),
    listMarkets: (asked) => markets(db, asked),
    getMarketStats: ({ marketId }) => marketStats(db, { marketId, nowMs: now() }),
    getHolders: (asked) => holders(db, asked),
    getMarketActivity: (asked) => activityOfMarket(db, asked),
    listTrades: (asked) => tradesOfMarket(db, asked),
    getResolution: createResolution({ db, chains, nowS, monotonic: () => performance.now() }),
    getPlatformStats: (asked) => platformStats(db, asked),
    getOrderbook: ({ at, ...asked }, { signal }) => (
      at === undefined ? orderbook(db, asked) : unlessLogAway(() => pastOrderbook(pastBooks, { ...asked, at }, signal))),
    listPendingTrades: (asked) => pendingTrades(db, asked),
    listFailedTrades: (asked) => failedTrades(db, { ...asked, nowMs: now() }),
    listPendingClaims: (asked) => pendingClaims(db, asked),
    listFailedClaims: (asked) => failedClaims(db, { ...asked, nowMs: now() }),
    getSettlement: (asked) => settlementOfTransaction(db, asked),
    getQuickMarket: (asked) => activeQuickMarket(db, { ...known(asked), nowS: nowS() }),
    listQuickMarkets: (asked) => quickMarketHistory(db, { ...known(asked), nowS: nowS() }),
    getPrice: (asked) => newestPrice(db, { ...known(asked), sourceUrls }),
    listPrices: (asked) => priceHistory(db, { ...known(asked), sourceUrls }),
    streamPrices: (asked, context) => streams.follow(known(asked), context),
    listEvents: (asked, context) => history.list(asked, context),
  };
}
