/** Trades of a market and of a user, newest first, and a user's payouts. Failed trades are left out. */
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { defineEndpoint } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import * as parameter from '../service/api/parameters.js';
import type { Database } from './database.js';
import { isPaged, keyAfter, NextCursor, page, pageParameters, type PageRequest } from './paging.js';
import { ofMarket, read, type Reads, type SharedReads } from './reading.js';
import { answer, answering, bytes, hex, jsonArray, jsonObject, positionOf, tradesOf, type Answer, type Statement } from './statement.js';

/** How many of the latest trades each listing has. */
const ACTIVITY_ENTRIES = 50;
const TRADE_ENTRIES = 100;
/** How many trades a page has at most. */
const TRADES_MAX = 500;
const IN_PAGES = 'With `limit` or `cursor`: page by page. A page with `cursor` is sent as `immutable` once all of its trades are confirmed.';
const USER_ACTIVITY_LIMIT = { byDefault: 50, max: 100 } as const;

/** SQL: `trades.settlement` in words. */
export function settlementStatus(column: string): string {
  return `(array['matched', 'pending', 'confirmed', 'failed'])[${column} + 1]`;
}

/** SQL: the settlement transaction's hash; empty until the transaction is sent. */
export function transactionHash(column: string): string {
  return `coalesce('0x' || encode(${column}, 'hex'), '')`;
}

const proof = `at_ms / 1000 as timestamp, ${transactionHash('tx_hash')} as "txHash", ${settlementStatus('settlement')} as "settlementStatus"`;

const parties = `${hex('buyer')} as buyer, ${hex('seller')} as seller`;

const activityOf = answering('activity_of_market', ['markets', 'trades'], jsonObject(`
  select ${hex('m.market_id')} as "marketId", ${latest(ACTIVITY_ENTRIES, 'price, size')} as activity
  from markets m where m.market_id = $1`));

const latestTrades = answering('trades_of_market', ['markets', 'trades'], jsonObject(`
  with market as materialized (
    select ${hex('m.market_id')} as "marketId", ${latest(TRADE_ENTRIES, 'price, size, outcome')} as trades
    from markets m where m.market_id = $1)
  select "marketId", trades, json_array_length(trades) as count from market`));

/**
 * The same, page by page: $2 is the number at the end of the page before, $3 the limit. A confirmed trade does not
 * change any more.
 */
const pageOfMarket = (name: string, list: string, columns: string, more: string): Statement => ({
  name,
  text: `
    with page as materialized (
      select * from trades where ${tradesOf('market_id', '$1')} and settlement <> 3 and number < coalesce($2::bigint, ${Number.MAX_SAFE_INTEGER})
      order by number desc limit $3::integer
    )
    select ${jsonObject(`
      select ${hex('m.market_id')} as "marketId", ${jsonArray(`
        select ${columns}, ${parties}, ${proof} from page order by number desc`)} as ${list}${more} from markets m where m.market_id = $1`)} as body,
      ${lastNumber('page', '$3')} as last, (select $2::bigint is not null and bool_and(settlement = 2) from page) as closed,
      ${positionOf(['markets', 'trades'])} as position`,
});

const activityPage = pageOfMarket('activity_page', 'activity', 'price, size', '');
const tradesPage = pageOfMarket('trades_page', 'trades', 'price, size, outcome', ', (select count(*) from page) as count');

/** $1 user, $2 chain, $3 limit; $4 and $5 are the trade and the payout at the end of the page before. */
const activityOfUser: Statement = {
  name: 'activity_of_user',
  text: `
    with traded as materialized (
      select * from (${asRole('buyer')} union all ${asRole('seller')}) trade order by number desc limit $3::integer
    ), paid as materialized (
      select redemptions.*, question, winning_outcome from redemptions join markets using (market_id)
      where user_address = $1 and chain_id = $2::bigint and exists (select from chain_volumes where chain_id = $2::bigint)
        and redemptions.position < coalesce($5::bigint, ${Number.MAX_SAFE_INTEGER})
      order by redemptions.position desc limit $3::integer
    )
    select ${jsonObject(`
      select ${jsonArray(`
        select ${hex('market_id')} as "marketId", question as "marketQuestion", price, size, "userRole", ${proof}
        from traded order by number desc`)} as activity, ${jsonArray(`
        select ${hex('market_id')} as "marketId", question as "marketQuestion", payout, winning_outcome as "winningOutcome", at_ms / 1000 as timestamp,
          ${transactionHash('tx_hash')} as "txHash"
        from paid order by position desc`)} as settlements`)} as body,
      (select case when greatest(trades.count, payouts.count) = $3::integer then json_build_array(
          case when trades.count = $3::integer then last_trade else 0 end, case when payouts.count = $3::integer then last_payout else 0 end)::text end
        from (select count(*), min(number) as last_trade from traded) trades, (select count(*), min(position) as last_payout from paid) payouts
      ) as last,
      ${positionOf(['markets', 'trades', 'redemptions'])} as position`,
};

/** `GET /activity/{marketId}`: the market's 50 latest trades, or page by page. Throws RequestError `unknown_market`. */
export function activityOfMarket(
  db: Database, { marketId, ...asked }: PageRequest & { marketId: string },
): Promise<Answer> {
  return isPaged(asked)
    ? pageOfTrades(db, activityPage, marketId, { ...asked, limit: asked.limit ?? ACTIVITY_ENTRIES })
    : answer(db, activityOf, [bytes(marketId)], 'unknown_market');
}

/** `GET /trades/{marketId}`: the market's 100 latest trades, or page by page. Throws RequestError `unknown_market`. */
export function tradesOfMarket(
  db: Database, { marketId, ...asked }: PageRequest & { marketId: string },
): Promise<Answer> {
  return isPaged(asked)
    ? pageOfTrades(db, tradesPage, marketId, { ...asked, limit: asked.limit ?? TRADE_ENTRIES })
    : answer(db, latestTrades, [bytes(marketId)], 'unknown_market');
}

function pageOfTrades(
  db: Database, statement: Statement, marketId: string, { limit, cursor }: PageRequest,
): Promise<Answer> {
  const [before] = keyAfter('trades', ['number'], cursor) ?? [];
  return page(db, { list: 'trades', statement, values: [bytes(marketId), before ?? null, limit], missing: 'unknown_market' });
}

/**
 * `GET /users/{address}/activity`: the user's latest trades on a chain, and the latest payouts of resolved markets. The
 * cursor goes on in both lists; one that has ended stays empty.
 */
export function userActivity(
  db: Database, { user, chainId, ...asked }: PageRequest & { user: string; chainId: number },
): Promise<Answer> {
  const { limit = USER_ACTIVITY_LIMIT.byDefault, cursor } = asked;
  const [trade = null, payout = null] = keyAfter('user_activity', ['number', 'number'], cursor) ?? [];
  const list = isPaged(asked) ? 'user_activity' : undefined;
  return page(db, { list, statement: activityOfUser, values: [bytes(user), chainId, limit, trade, payout] });
}

/** SQL: the key of the page's last entry; null where the page is not full. */
function lastNumber(of: string, limit: string): string {
  return `(select case when count(*) = ${limit}::integer then json_build_array(min(number))::text end from ${of})`;
}

function latest(limit: number, columns: string): string {
  return jsonArray(`
    select ${columns}, ${parties}, ${proof}
    from trades where ${tradesOf('market_id', '$1')} and settlement <> 3 order by number desc limit ${limit}`);
}

/**
 * SQL: a user's latest trades in one role. Checks first that the chain has markets, so that no trade is read for a
 * chain without markets.
 */
function asRole(role: 'buyer' | 'seller'): string {
  return `(
    select trades.*, question, '${role}' as "userRole" from trades join markets using (market_id)
    where ${tradesOf(role, '$1')} and settlement <> 3 and chain_id = $2::bigint and exists (select from chain_volumes where chain_id = $2::bigint)
      and trades.number < coalesce($4::bigint, ${Number.MAX_SAFE_INTEGER})
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
  description: `Newest first. \`txHash\` is empty until a settlement transaction is sent. ${IN_PAGES}`,
  parameters: { ...ofMarket.parameters, ...pageParameters({ byDefault: ACTIVITY_ENTRIES, max: TRADES_MAX }) },
  shownLimit: { name: 'maxActivity', value: ACTIVITY_ENTRIES, description: 'Most trades in a market\'s activity.' },
  answer: {
    description: 'The trades.',
    schema: field.answer('MarketActivity', {
      marketId: field.Bytes32, activity: Type.Array(field.answer('MarketActivityEntry', tradeFields)), nextCursor: NextCursor,
    }),
    examples: { 'one trade': { marketId: example.marketId, activity: [trade] } },
  },
}, ({ db, share }: SharedReads) => share('activity', ['markets', 'trades'], (params) => activityOfMarket(db, params)));

export const listTrades = defineEndpoint({
  ...ofMarket,
  id: 'listTrades', path: '/api/v1/trades/{marketId}', summary: 'The 100 latest trades of a market',
  description: `Newest first, with the outcome traded. \`txHash\` is empty until a settlement transaction is sent. ${IN_PAGES}`,
  parameters: { ...ofMarket.parameters, ...pageParameters({ byDefault: TRADE_ENTRIES, max: TRADES_MAX }) },
  shownLimit: { name: 'maxTrades', value: TRADE_ENTRIES, description: 'Most trades in a market\'s trade history.' },
  answer: {
    description: 'The trades.',
    schema: field.answer('Trades', {
      marketId: field.Bytes32, trades: Type.Array(field.answer('Trade', { ...tradeFields, outcome: field.Outcome })),
      count: field.Count, nextCursor: NextCursor,
    }),
    examples: { 'one trade': { marketId: example.marketId, trades: [{ ...trade, outcome: 0 }], count: 1 } },
  },
}, ({ db, share }: SharedReads) => share('trades', ['markets', 'trades'], (params) => tradesOfMarket(db, params)));

export const getUserActivity = defineEndpoint({
  ...read, tag: 'Users',
  id: 'getUserActivity', path: '/api/v1/users/{address}/activity', summary: 'Latest trades and payouts of a user on a chain',
  description: 'Newest first. `settlements` has the payouts of resolved markets. `limit` applies to each of the two lists, '
    + 'and `cursor` goes on in both.',
  parameters: { user: parameter.userInPath, chainId: parameter.chainId, ...pageParameters(USER_ACTIVITY_LIMIT) },
  shownLimit: { name: 'maxUserActivity', value: USER_ACTIVITY_LIMIT.max, description: 'Most entries in each list of a user\'s activity.' },
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
      nextCursor: NextCursor,
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
