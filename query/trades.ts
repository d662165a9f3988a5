/** Trades of a market and of a user, newest first, and a user's payouts. Failed trades are left out. */
import type { Database } from './database.js';
import { answer, answering, bytes, hex, jsonArray, jsonObject, type Answer } from './statement.js';

/** How many of the latest trades each listing has. */
export const ACTIVITY_ENTRIES = 50;
export const TRADE_ENTRIES = 100;
export const USER_ACTIVITY_LIMIT = { byDefault: 50, max: 100 } as const;

/** SQL: `trades.settlement` in words. */
export function settlementStatus(column: string): string {
  return `(array['matched', 'pending', 'confirmed', 'failed'])[${column} + 1]`;
}

/** SQL: the settlement transaction's hash; empty until the transaction is sent. */
export function transactionHash(column: string): string {
  return `coalesce('0x' || encode(${column}, 'hex'), '')`;
}

const proof = `at_ms / 1000 as timestamp, ${transactionHash('tx_hash')} as "txHash", ${settlementStatus('settlement')} as "settlementStatus"`;

const activityOf = answering('activity_of_market', ['markets', 'trades'], jsonObject(`
  select ${hex('m.market_id')} as "marketId", ${latest(ACTIVITY_ENTRIES, 'price, size')} as activity
  from markets m where m.market_id = $1`));

const tradesOf = answering('trades_of_market', ['markets', 'trades'], jsonObject(`
  with market as materialized (
    select ${hex('m.market_id')} as "marketId", ${latest(TRADE_ENTRIES, 'price, size, outcome')} as trades
    from markets m where m.market_id = $1)
  select "marketId", trades, json_array_length(trades) as count from market`));

const activityOfUser = answering('activity_of_user', ['markets', 'trades', 'redemptions'], jsonObject(`
  select ${jsonArray(`
    select ${hex('trade.market_id')} as "marketId", question as "marketQuestion", price, size, "userRole", ${proof}
    from (${asRole('buyer')} union all ${asRole('seller')}) trade
    order by number desc limit $3::integer`)} as activity, ${jsonArray(`
    select ${hex('market_id')} as "marketId", question as "marketQuestion", payout, winning_outcome as "winningOutcome", at_ms / 1000 as timestamp,
      ${transactionHash('tx_hash')} as "txHash"
    from redemptions join markets using (market_id)
    where user_address = $1 and chain_id = $2::bigint and exists (select from markets where chain_id = $2::bigint)
    order by redemptions.position desc limit $3::integer`)} as settlements`));

/** `GET /activity/{marketId}`: the market's 50 latest trades. Throws RequestError `unknown_market`. */
export function activityOfMarket(db: Database, { marketId }: { marketId: string }): Promise<Answer> {
  return answer(db, activityOf, [bytes(marketId)], 'unknown_market');
}

/** `GET /trades/{marketId}`: the market's 100 latest trades. Throws RequestError `unknown_market`. */
export function tradesOfMarket(db: Database, { marketId }: { marketId: string }): Promise<Answer> {
  return answer(db, tradesOf, [bytes(marketId)], 'unknown_market');
}

/** `GET /users/{address}/activity`: the user's latest trades on a chain, and the latest payouts of resolved markets. */
export function userActivity(
  db: Database, { user, chainId, limit = USER_ACTIVITY_LIMIT.byDefault }: { user: string; chainId: number; limit?: number },
): Promise<Answer> {
  return answer(db, activityOfUser, [bytes(user), chainId, limit]);
}

function latest(limit: number, columns: string): string {
  return jsonArray(`
    select ${columns}, ${hex('buyer')} as buyer, ${hex('seller')} as seller, ${proof}
    from trades where market_id = $1 and settlement <> 3 order by number desc limit ${limit}`);
}

/** SQL: a user's latest trades in one role. Checks first that the chain has markets, so that no trade is read for a chain without markets. */
function asRole(role: 'buyer' | 'seller'): string {
  return `(
    select trades.*, question, '${role}' as "userRole" from trades join markets using (market_id)
    where ${role} = $1 and settlement <> 3 and chain_id = $2::bigint and exists (select from markets where chain_id = $2::bigint)
    order by trades.number desc limit $3::integer)`;
}
