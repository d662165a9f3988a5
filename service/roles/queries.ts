/** The handlers of the reads, bound to the read models, the log and the clock. */
import type { Log } from '../../engine/log/log.js';
import type { Database } from '../../query/database.js';
import { failedClaims, pendingClaims } from '../../query/claims.js';
import { events } from '../../query/events.js';
import { markets, marketStats, platformStats } from '../../query/markets.js';
import { orderbook } from '../../query/orderbook.js';
import { ordersOfTrader, ordersOfUser } from '../../query/orders.js';
import { holders, position, positionsOfUser } from '../../query/positions.js';
import { resolution } from '../../query/resolution.js';
import { failedTrades, pendingTrades, settlementOfTransaction } from '../../query/settlements.js';
import { activityOfMarket, tradesOfMarket, userActivity } from '../../query/trades.js';
import { NDJSON } from '../api/endpoints/history.js';
import type { ReadHandlers } from '../api/endpoints.js';

export function createQueries({ db, log, now }: { db: Database; log: Log; now: () => number }): ReadHandlers {
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
    getResolution: ({ marketId }) => resolution(db, { marketId, nowS: Math.floor(now() / 1_000) }),
    getPlatformStats: (asked) => platformStats(db, asked),
    getOrderbook: (asked) => orderbook(db, asked),
    listPendingTrades: (asked) => pendingTrades(db, asked),
    listFailedTrades: (asked) => failedTrades(db, { ...asked, nowMs: now() }),
    listPendingClaims: (asked) => pendingClaims(db, asked),
    listFailedClaims: (asked) => failedClaims(db, { ...asked, nowMs: now() }),
    getSettlement: (asked) => settlementOfTransaction(db, asked),
    listEvents: ({ from, limit, contentType }) => events(log, { from, limit, ndjson: contentType === NDJSON }),
  };
}
