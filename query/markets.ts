/** The unresolved markets, one market's statistics, and the platform's totals. */
import { RequestError } from '../engine/records/errors.js';
import { NO, YES, type MarketOutcome } from '../engine/records/fields.js';
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { defineEndpoint } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import * as parameter from '../service/api/parameters.js';
import type { MarketReference } from '../service/api/request-fields.js';
import type { Database } from './database.js';
import { BEST_YES_ASK, exampleEntry, MARKET_FIELDS, MARKET_STATE, MarketEntry, marketSearchParameters, searchMarkets, type MarketSearch } from './market-search.js';
import { NextCursor } from './paging.js';
import { ofMarket, read, wholeSecond, type SharedReads } from './reading.js';
import { answer, answering, bytes, hex, jsonArray, jsonObject, tradesOf, type Answer, type Statement } from './statement.js';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const listing = answering('markets', ['markets', 'orders'], jsonObject(`
  with listed as materialized (select ${jsonArray(`
    select ${MARKET_FIELDS} from markets ${BEST_YES_ASK}
    where kind = 'standard' and not resolved and ($1::bigint is null or chain_id = $1)
    order by number desc`)} as markets)
  select markets, json_array_length(markets) as count from listed`));

const single = answering('market', ['markets', 'orders', 'trades'], jsonObject(`
  select ${MARKET_FIELDS}, ${MARKET_STATE}, coalesce(totals.volume, 0) as "totalVolume"
  from markets ${BEST_YES_ASK} left join lateral (
    select volume from market_volumes where market_volumes.market_id = markets.market_id) totals on true
  where markets.market_id = $1`));

/** SQL: the candle of the last trade of an outcome: unlike old trades, candles are never removed. */
function lastCandle(outcome: MarketOutcome): string {
  return `(
      select close, last_fill from candles
      where series = (select first_fill * 2 + ${outcome} from market_volumes where market_id = $1) and interval_s = ${DAY_MS / 1_000} order by start desc limit 1)`;
}

/** The window starts after $2 (milliseconds). Whole minutes are summed from `minute_volumes`, the first, partial minute from `trades`. */
const statistics = answering('stats_of_market', ['markets', 'trades'], jsonObject(`
  select ${hex('market_id')} as "marketId", ${hex('contract_address')} as "contractAddress",
    (select coalesce(sum(volume), 0) from minute_volumes where market_id = $1 and minute > $2::bigint / ${MINUTE_MS})
    + (select coalesce(sum(cost), 0) from trades where ${tradesOf('market_id', '$1')} and settlement <> 3
      and number >= ${firstFillAfter('$2::bigint')}
      and number < ${firstFillAfter(`($2::bigint / ${MINUTE_MS} + 1) * ${MINUTE_MS} - 1`)}) as "volume24h",
    coalesce((select volume from market_volumes where market_id = $1), 0) as "totalVolume",
    coalesce((select close from (${lastCandle(YES)} union all ${lastCandle(NO)}) newest order by last_fill desc limit 1), 0) as "lastPrice"
  from markets where market_id = $1`));

const platform = answering('platform_stats', ['trades'], jsonObject(`
  with chains as materialized (
    select chain_id as "chainId", volume as "totalVolume", trades as "totalTrades" from chain_volumes order by chain_id)
  select ${jsonArray('select * from chains')} as chains, coalesce(sum("totalVolume"), 0) as total_volume,
    coalesce(sum("totalTrades"), 0) as total_trades
  from chains`));

const platformOnChain = answering('platform_stats_on_chain', ['trades'], jsonObject(`
  select $1::bigint as "chainId", coalesce(sum(volume), 0) as "totalVolume", coalesce(sum(trades), 0) as "totalTrades"
  from chain_volumes where chain_id = $1`));

const idOfContract: Statement = {
  name: 'market_of_contract', text: `select ${hex('market_id')} as id from markets where contract_address = $1 order by number limit 1`,
};

/** The id of a market. If markets on two chains share the contract address, it is the older market's. Throws RequestError `unknown_market`. */
export async function marketIdOf(db: Database, market: MarketReference): Promise<string> {
  if ('marketId' in market) return market.marketId;
  const [row] = await db.rows<{ id: string } | undefined>(idOfContract, [bytes(market.contractAddress)]);
  if (row === undefined) throw new RequestError('unknown_market');
  return row.id;
}

/**
 * `GET /markets`: every unresolved standard market, on one chain or all, newest first. `bestAskPrice` is 0 without a YES ask. The token ids
 * are decimal, since they are uint256; they and the condition are null for a market without a chain.
 */
export function markets(db: Database, { chainId }: { chainId?: number | undefined }): Promise<Answer> {
  return answer(db, listing, [chainId ?? null]);
}

/** `GET /markets/{marketId}`: an entry as in a page of markets. Throws RequestError `unknown_market`. */
export function market(db: Database, { marketId }: { marketId: string }): Promise<Answer> {
  return answer(db, single, [bytes(marketId)], 'unknown_market');
}

/**
 * `GET /stats/{marketId}`: `volume24h` is the collateral of the trades later than now - 24 h, exact to the millisecond. `lastPrice` is
 * the price of the latest trade of either market outcome, 0 without a trade. Failed trades are not counted. Throws RequestError
 * `unknown_market`.
 */
export function marketStats(db: Database, { marketId, nowMs }: { marketId: string; nowMs: number }): Promise<Answer> {
  return answer(db, statistics, [bytes(marketId), nowMs - DAY_MS], 'unknown_market');
}

/** `GET /platform/stats`: totals per chain and over all chains, or the totals of one chain; a chain without markets has zeros. */
export function platformStats(db: Database, { chainId }: { chainId?: number | undefined }): Promise<Answer> {
  return chainId === undefined ? answer(db, platform, []) : answer(db, platformOnChain, [chainId]);
}

/**
 * SQL: the number of the first fill later than `ms`, or the last number plus 1. Bisects the fill numbers: engine time never goes back, so
 * fills are in the order of time. So `trades` needs no index on time, which would make every insert slower.
 */
function firstFillAfter(ms: string): string {
  return `(
    with recursive bisection (low, high) as (
      select coalesce(min(number), 0), coalesce(max(number) + 1, 0) from trades
      union all
      select case when later then low else middle + 1 end, case when later then middle else high end
      from bisection cross join lateral (select (low + high) / 2 as middle) half cross join lateral (
        select at_ms > ${ms} as later from trades where number >= middle order by number limit 1) fill
      where low < high)
    select low from bisection where low = high)`;
}

const reading = { ...read, tag: 'Markets' } as const;

export const listMarkets = defineEndpoint({
  ...reading,
  id: 'listMarkets', path: '/api/v1/markets', summary: 'Active markets', description: 'All standard markets that are not resolved, newest first. '
    + 'With any parameter but `chain_id`: a page of the markets that meet all conditions, and entries with `state` and `totalVolume` besides. '
    + 'With `conditionId` and the token ids a wallet reads its shares, splits and redeems; /api/v1/contracts has the ABIs for that.',
  parameters: { chainId: parameter.optionalChainId, ...marketSearchParameters },
  answer: {
    description: 'The markets.',
    schema: field.answer('Markets', {
      markets: Type.Array(MarketEntry),
      count: field.Count, nextCursor: NextCursor,
    }),
    examples: {
      'one market': {
        markets: [exampleEntry],
        count: 1,
      },
    },
  },
  errors: ['unavailable'],
}, ({ db, share }: SharedReads) => {
  const all = share('markets', ['markets', 'orders'], (asked: { chainId: number | undefined }) => markets(db, asked));
  const found = share('market_search', ['markets', 'orders', 'trades'], (asked: MarketSearch) => searchMarkets(db, asked));
  return ({ chainId, ...search }) => (
    Object.values(search).every((each) => each === undefined) ? all({ chainId }) : found({ chainId, ...search }));
});

export const getMarket = defineEndpoint({
  ...ofMarket,
  id: 'getMarket', path: '/api/v1/markets/{marketId}', summary: 'One market',
  description: 'Any market: standard or quick, resolved or not. With `state` and `totalVolume`, as in a page of markets.',
  answer: {
    description: 'The market.', schema: MarketEntry,
    examples: { open: { ...exampleEntry, state: 'open', totalVolume: 81_500_000 } },
  },
}, ({ db, share }: SharedReads) => share('market', ['markets', 'orders', 'trades'], (asked: { marketId: string }) => market(db, asked)));

const chainTotals = field.answer('ChainTotals', {
  chainId: field.ChainId, totalVolume: field.amount('Stablecoin traded since the start'), totalTrades: field.integer('Number of trades since the start.'),
}, { description: 'Totals of one chain. With chain_id, this is the whole answer.' });
const exampleTotals = { chainId: 31_337, totalVolume: 81_500_000, totalTrades: 311 };

export const getPlatformStats = defineEndpoint({
  ...reading,
  id: 'getPlatformStats', path: '/api/v1/platform/stats', summary: 'Volume and trades of the platform',
  description: 'Without chain_id: per chain and in total. With chain_id: of that chain.',
  parameters: { chainId: parameter.optionalChainId },
  answer: {
    description: 'The totals.',
    schema: Type.Union([
      field.answer('PlatformTotals', {
        chains: Type.Array(chainTotals), total_volume: field.amount('Stablecoin traded since the start, on all chains'),
        total_trades: field.integer('Number of trades since the start, on all chains.'),
      }, { description: 'The answer without chain_id.' }),
      chainTotals,
    ]),
    examples: { 'all chains': { chains: [exampleTotals], total_volume: 81_500_000, total_trades: 311 }, 'one chain': exampleTotals },
  },
  errors: ['unavailable'],
}, ({ db, share }: SharedReads) => share('platform', ['trades'], (params) => platformStats(db, params)));

export const getMarketStats = defineEndpoint({
  ...ofMarket,
  id: 'getMarketStats', path: '/api/v1/stats/{marketId}', summary: 'Statistics of a market',
  description: '`volume24h` covers the 24 hours before the request, to the second. Trades that failed to settle are not counted.',
  answer: {
    description: 'The statistics.',
    schema: field.answer('MarketStatistics', {
      marketId: field.Bytes32, contractAddress: field.Address, volume24h: field.amount('Stablecoin traded in the last 24 hours'),
      totalVolume: field.amount('Stablecoin traded since the start'), lastPrice: field.PriceOrNone,
    }),
    examples: {
      traded: {
        marketId: example.marketId, contractAddress: example.contractAddress, volume24h: 6_000_000, totalVolume: 81_500_000, lastPrice: 600_000,
      },
    },
  },
}, ({ db, share, now }: SharedReads) => {
  const shared = share('stats', ['markets', 'trades'], (asked: { marketId: string; nowMs: number }) => marketStats(db, asked));
  return ({ marketId }) => shared({ marketId, nowMs: wholeSecond(now()) });
});
