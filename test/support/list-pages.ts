/** Pages of a hundred rows of every list, in generated read models: the first one and one far on, of what is busy and of what is rare. */
import { createHash } from 'node:crypto';
import { failedClaims, pendingClaims } from '../../query/claims.js';
import { candlesOfAsset, candlesOfMarket } from '../../query/candles.js';
import type { Database } from '../../query/database.js';
import { searchMarkets } from '../../query/market-search.js';
import { marketStats, platformStats } from '../../query/markets.js';
import { ordersOfTrader, ordersOfUser } from '../../query/orders/orders.js';
import { cursorAfter } from '../../query/paging.js';
import { holders, positionsOfUser } from '../../query/positions.js';
import { quickMarketHistory } from '../../query/quick-markets.js';
import { failedTrades, pendingTrades } from '../../query/settlements.js';
import type { Answer } from '../../query/statement.js';
import { ticker } from '../../query/ticker.js';
import { activityOfMarket, tradesOfMarket, userActivity } from '../../query/trades.js';
import { BUSY, NEWEST_MS, type Size } from './generated-read-models.js';

const hashOf = (n: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(n);
  return createHash('sha256').update(bytes).digest('hex');
};

export const LIMIT = 100;

/** The pages by their names. */
export function listPages(size: Size): ReadonlyMap<string, (db: Database) => Promise<Answer>> {
  const marketId = `0x${hashOf(BUSY)}`;
  const user = `0x${hashOf(0).slice(0, 40)}`;
  const limit = LIMIT;
  const [chainId, nowMs] = [31_337, NEWEST_MS];
  const half = (list: string, count: number) => ({ limit, cursor: cursorAfter(list, [Math.floor(count / 2)]) });
  return new Map<string, (db: Database) => Promise<Answer>>([
    ['markets', (db) => searchMarkets(db, { limit })],
    ['markets, far on', (db) => searchMarkets(db, half('markets:newest', size.markets))],
    ['markets that are open', (db) => searchMarkets(db, { limit, state: 'open' })],
    ['markets that are disputed', (db) => searchMarkets(db, { limit, state: 'disputed' })],
    ['markets of a category and state', (db) => searchMarkets(db, { limit, category: 'protocol', state: 'proposed' })],
    ['markets of one chain', (db) => searchMarkets(db, { limit, chainId: 137 })],
    ['markets by volume', (db) => searchMarkets(db, { limit, sort: 'volume', state: 'all' })],
    ['markets by volume that are disputed', (db) => searchMarkets(db, { limit, sort: 'volume', state: 'disputed' })],
    ['markets by expiration', (db) => searchMarkets(db, { limit, sort: 'expiration' })],
    ['markets by a word of all', (db) => searchMarkets(db, { limit, query: 'happen' })],
    ['markets by a rare word', (db) => searchMarkets(db, { limit, query: 'group 17' })],
    ['trades of a market', (db) => tradesOfMarket(db, { marketId, limit })],
    ['trades of a market, far on', (db) => tradesOfMarket(db, { marketId, ...half('trades', size.trades) })],
    ['activity of a market', (db) => activityOfMarket(db, { marketId, limit })],
    ['activity of a user', (db) => userActivity(db, { user, chainId, limit })],
    ['activity of a user, far on', (db) => userActivity(db, { user, chainId, limit, cursor: cursorAfter('user_activity', [size.trades / 2, size.holders]) })],
    ['positions of a user', (db) => positionsOfUser(db, { user, chainId, limit })],
    ['positions of a user, far on', (db) => positionsOfUser(db, { user, chainId, ...half('positions', size.holders) })],
    ['holders', (db) => holders(db, { marketId, limit })],
    ['holders, far on', (db) => holders(db, { marketId, limit, cursor: cursorAfter('holders', ['1500000', user]) })],
    ['open orders of a trader', (db) => ordersOfTrader(db, { trader: user, limit })],
    ['open orders of a user on a chain', (db) => ordersOfUser(db, { user, chainId, limit })],
    ['pending trades', (db) => pendingTrades(db, { limit })],
    ['failed trades', (db) => failedTrades(db, { limit, nowMs })],
    ['pending claims', (db) => pendingClaims(db, { limit })],
    ['failed claims', (db) => failedClaims(db, { limit, nowMs })],
    ['candles of a minute', (db) => candlesOfMarket(db, { marketId, interval: '1m', limit })],
    ['candles of a minute, far on', (db) => candlesOfMarket(db, { marketId, interval: '1m', limit, to: NEWEST_MS / 1_000 - 50 * 86_400 })],
    ['candles of a day', (db) => candlesOfMarket(db, { marketId, interval: '1d', limit })],
    ['candles of an asset', (db) => candlesOfAsset(db, { asset: 'BTC', interval: '1m', limit })],
    ['quick markets', (db) => quickMarketHistory(db, { asset: 'BTC', nowS: NEWEST_MS / 1_000, limit })],
    ['ticker', (db) => ticker(db, { marketId, nowMs })],
    ['statistics of a market', (db) => marketStats(db, { marketId, nowMs })],
    ['totals of the platform', (db) => platformStats(db, {})],
  ]);
}
