/** The query side's reads as the route table names them, bound to the read models, the log and the clock. */
import type { Log } from '../../engine/log/log.js';
import type { Database } from '../../query/database.js';
import { events } from '../../query/events.js';
import { marketIdOf, markets, marketStats, platformStats } from '../../query/markets.js';
import { orderWithHistory } from '../../query/order.js';
import { orderbook } from '../../query/orderbook.js';
import { ordersOfTrader, ordersOfUser } from '../../query/orders.js';
import { holders, position, positionsOfUser } from '../../query/positions.js';
import { resolution } from '../../query/resolution.js';
import { failedTrades, pendingTrades, settlementOfTransaction } from '../../query/settlements.js';
import { activityOfMarket, tradesOfMarket, userActivity } from '../../query/trades.js';
import type { Queries } from '../api/routes.js';

export function createQueries({ db, log, now }: { db: Database; log: Log; now: () => number }): Queries {
  return {
    ordersOfTrader: (asked) => ordersOfTrader(db, asked),
    orderWithHistory: (asked) => orderWithHistory(db, asked),
    ordersOfUser: (asked) => ordersOfUser(db, asked),
    positionsOfUser: (asked) => positionsOfUser(db, asked),
    userActivity: (asked) => userActivity(db, asked),
    positionInMarket: (asked) => position(db, asked),
    markets: (asked) => markets(db, asked),
    statsOfMarket: ({ marketId }) => marketStats(db, { marketId, nowMs: now() }),
    holdersOfMarket: (asked) => holders(db, asked),
    activityOfMarket: (asked) => activityOfMarket(db, asked),
    tradesOfMarket: (asked) => tradesOfMarket(db, asked),
    resolutionOfMarket: ({ marketId }) => resolution(db, { marketId, nowS: Math.floor(now() / 1_000) }),
    platformStats: (asked) => platformStats(db, asked),
    orderbook: (asked) => orderbook(db, asked),
    pendingTrades: (asked) => pendingTrades(db, asked),
    failedTrades: (asked) => failedTrades(db, { ...asked, nowMs: now() }),
    settlementOfTransaction: (asked) => settlementOfTransaction(db, asked),
    marketIdOf: (market) => marketIdOf(db, market),
    events: ({ from, limit, lines }) => events(log, { from, limit, ndjson: lines }),
  };
}
