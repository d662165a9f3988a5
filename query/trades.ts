/** Trades of a market and of a user, newest first, and a user's payouts. Failed trades are left out. */
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { defineEndpoint } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import * as parameter from '../service/api/parameters.js';
import type { Database } from './database.js';
import { ofMarket, read, type Reads } from './reading.js';
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

const tradeFields = {
  price: field.Price, size: field.amount('Shares'), buyer: field.Address, seller: field.Address, timestamp: field.Seconds, txHash: field.TxHash,
  settlementStatus: field.SettlementStatus,
};
const trade = {
  price: 600_000, size: 10_000_000, buyer: example.alice, seller: example.bob, timestamp: example.placedAt, txHash: '', settlementStatus: 'matched',
};

export const getMarketActivity = defineEndpoint({
  ...ofMarket,
  id: 'getMarketActivity', path: '/api/v1/activity/{marketId}', summary: 'The 50 latest trades of a market',
  description: 'Newest first. `txHash` is empty until a settlement transaction is sent.',
  answer: {
    description: 'The trades.',
    schema: field.answer('MarketActivity', {
      marketId: field.Bytes32, activity: Type.Array(field.answer('MarketActivityEntry', tradeFields), { maxItems: ACTIVITY_ENTRIES }),
    }),
    examples: { 'one trade': { marketId: example.marketId, activity: [trade] } },
  },
}, ({ db }: Reads) => (params) => activityOfMarket(db, params));

export const listTrades = defineEndpoint({
  ...ofMarket,
  id: 'listTrades', path: '/api/v1/trades/{marketId}', summary: 'The 100 latest trades of a market',
  description: 'Newest first, with the outcome traded. `txHash` is empty until a settlement transaction is sent.',
  answer: {
    description: 'The trades.',
    schema: field.answer('Trades', {
      marketId: field.Bytes32, trades: Type.Array(field.answer('Trade', { ...tradeFields, outcome: field.Outcome }), { maxItems: TRADE_ENTRIES }),
      count: field.Count,
    }),
    examples: { 'one trade': { marketId: example.marketId, trades: [{ ...trade, outcome: 0 }], count: 1 } },
  },
}, ({ db }: Reads) => (params) => tradesOfMarket(db, params));

export const getUserActivity = defineEndpoint({
  ...read, tag: 'Users',
  id: 'getUserActivity', path: '/api/v1/users/{address}/activity', summary: 'Latest trades and payouts of a user on a chain',
  description: 'Newest first. `settlements` has the payouts of resolved markets. `limit` applies to each of the two lists.',
  parameters: { user: parameter.userInPath, chainId: parameter.chainId, limit: parameter.limit(USER_ACTIVITY_LIMIT) },
  answer: {
    description: 'The activity.',
    schema: field.answer('UserActivity', {
      activity: Type.Array(field.answer('UserTrade', {
        marketId: field.Bytes32, marketQuestion: field.Question, price: field.Price, size: field.amount('Shares'),
        userRole: field.oneOf(['buyer', 'seller'], 'The side of the user in the trade.'),
        timestamp: field.Seconds, txHash: field.TxHash, settlementStatus: field.SettlementStatus,
      })),
      settlements: Type.Array(field.answer('Payout', {
        marketId: field.Bytes32, marketQuestion: field.Question, payout: field.amount('Stablecoin paid out'),
        winningOutcome: field.orNull(field.Outcome, '0 = YES, 1 = NO; null if the chain paid without naming a winner, half to half.'),
        timestamp: field.Seconds, txHash: field.Bytes32,
      })),
    }),
    examples: {
      'one trade, one payout': {
        activity: [{
          marketId: example.marketId, marketQuestion: example.question, price: 600_000, size: 10_000_000, userRole: 'buyer', timestamp: example.placedAt,
          txHash: '', settlementStatus: 'matched',
        }],
        settlements: [{
          marketId: example.digest, marketQuestion: 'Will it rain in Oslo?', payout: 2_500_000, winningOutcome: 1, timestamp: example.placedAt,
          txHash: example.txHash,
        }],
      },
    },
  },
  errors: ['unavailable'],
}, ({ db }: Reads) => (params) => userActivity(db, params));
