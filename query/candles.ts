/** Candles: the prices of an outcome's trades, or of an asset, in each interval of time. */
import { YES, type MarketOutcome } from '../engine/records/fields.js';
import * as field from '../engine/records/answer-fields.js';
import { Type } from '../engine/records/schema-types.js';
import { defineEndpoint } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import { inQuery } from '../service/api/parameter.js';
import * as parameter from '../service/api/parameters.js';
import * as kind from '../service/api/request-fields.js';
import { asset, AssetPrice, requireAsset, type Assets } from './asset.js';
import type { Database } from './database.js';
import { cursor, keyAfter, NextCursor, page } from './paging.js';
import { ofMarket, read, type SharedReads } from './reading.js';
import { bytes, hex, jsonArray, jsonObject, positionOf, INCLUDED_TIME, type Answer, type Statement } from './statement.js';

/** The lengths of candles in seconds, by their names in requests. */
export const INTERVALS = { '1m': 60, '5m': 300, '15m': 900, '1h': 3_600, '1d': 86_400 } as const;
export type Interval = keyof typeof INTERVALS;

export const CANDLES_LIMIT = { byDefault: 500, max: 1_000 } as const;

/**
 * Which candles: those that start from `from` to before `to` (Unix seconds), the latest `limit` of them, before the
 * cursor's.
 */
export interface CandlePage {
  readonly interval?: Interval;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit?: number;
  readonly cursor?: string | undefined;
}

/**
 * $1 market, $2 outcome, $3 the interval's name, $4 its length in seconds, $5 from, $6 before, $7 limit, $8 whether
 * `before` was given. A candle is closed once its time is over and all its trades are settled: before that a trade can
 * fail, and leaves it. A page is closed when a trade that is not settled, or still to come, cannot be in it.
 */
const OF_MARKET: Statement = {
  name: 'candles_of_market',
  text: `
    with unsettled as materialized (
      select number, at_ms from trades where number = (
        select number from unsettled_trades where market_id = $1 order by number limit 1)
    ), page as materialized (
      select start, open, high, low, close, volume, trades,
        (start + $4::integer) * 1000 <= ${INCLUDED_TIME}
          and last_fill < coalesce((select number from unsettled), ${Number.MAX_SAFE_INTEGER}) as closed
      from candles
      where ${between('series', '(select first_fill * 2 + $2::smallint from market_volumes where market_id = $1)')}
    )
    select ${jsonObject(`
      select ${hex('market_id')} as "marketId", $2::smallint as outcome, $3::text as interval, ${candles()} as candles,
        (select count(*) from page) as count
      from markets where market_id = $1`)} as body, ${lastStart()} as last,
      $8::boolean and least(${INCLUDED_TIME}, (select at_ms from unsettled)) >= ${endOfPage()} as closed,
      ${positionOf(['markets', 'trades'])} as position`,
};

/** $1 asset, the others as above without the outcome. A candle is closed once a later one has begun. */
const OF_ASSET: Statement = {
  name: 'candles_of_asset',
  text: `
    with newest as materialized (
      select start from price_candles where asset = $1::text and interval_s = $4::integer order by start desc limit 1
    ), page as materialized (
      select start, open, high, low, close, 0 as volume, 0 as trades, prices, start < (select start from newest) as closed
      from price_candles
      where ${between('asset', '$1::text')}
    )
    select ${jsonObject(`
      select $1::text as asset, $3::text as interval, ${candles(', prices')} as candles, (select count(*) from page) as count`)} as body,
      ${lastStart()} as last, $8::boolean and $2::smallint = 0 and (select start from newest) * 1000 >= ${endOfPage()} as closed,
      ${positionOf(['prices'])} as position`,
};

/**
 * SQL: the latest candles of a series from $5 to before $6. Rows are compared as wholes, so that Postgres goes through
 * the index from the end: with equalities it takes a series for short, and sorts all of it.
 */
function between(column: string, series: string): string {
  return `(${column}, interval_s, start) >= (${series}, $4::integer, $5::bigint) and (${column}, interval_s, start) < (${series}, $4::integer, $6::bigint)
      order by ${column} desc, interval_s desc, start desc limit $7::integer`;
}

function candles(more = ''): string {
  return jsonArray(`select start, open, high, low, close, volume, trades${more}, closed from page order by start`);
}

/** SQL: the key of the page's earliest candle; null where the page is not full. */
function lastStart(): string {
  return '(select case when count(*) = $7::integer then json_build_array(min(start))::text end from page)';
}

/** SQL: when the last candle that can start before $6 ends, in milliseconds. */
function endOfPage(): string {
  return '($6::bigint + $4::integer - 1) / $4::integer * $4::integer * 1000';
}

/** What $3 to $8 are. */
function valuesOf(list: string, { interval = '1h', from, to, limit = CANDLES_LIMIT.byDefault, cursor: text }: CandlePage): unknown[] {
  const [before] = (keyAfter(list, ['number'], text) ?? []) as number[];
  const end = Math.min(to ?? LATEST_S, before ?? LATEST_S);
  return [interval, INTERVALS[interval], from ?? 0, end, limit, end < LATEST_S];
}

/** No candle starts later: in Unix seconds. */
const LATEST_S = 2 ** 40;

/**
 * `GET /candles/{marketId}`: the candles of an outcome, oldest first; of more than `limit`, the latest. An interval
 * without a trade has none. Throws RequestError `unknown_market`.
 */
export function candlesOfMarket(
  db: Database,
  { marketId, outcome = YES, ...asked }: CandlePage & { marketId: string; outcome?: MarketOutcome | undefined },
): Promise<Answer> {
  return page(db, {
    list: 'candles', statement: OF_MARKET, values: [bytes(marketId), outcome, ...valuesOf('candles', asked)], missing: 'unknown_market',
  });
}

/** `GET /prices/{asset}/candles`: the candles of an asset's price, as those of a market. */
export function candlesOfAsset(db: Database, { asset: of, ...asked }: CandlePage & { asset: string }): Promise<Answer> {
  return page(db, { list: 'price_candles', statement: OF_ASSET, values: [of, 0, ...valuesOf('price_candles', asked)] });
}

const seconds = kind.optional(kind.seconds(LATEST_S));

const pageParameters = {
  interval: inQuery('interval', kind.withDefault(kind.oneOf(['1m', '5m', '15m', '1h', '1d']), '1h'), {
    description: 'Length of a candle. Candles begin at whole multiples of it since 1970, days at midnight UTC.', example: '1h',
  }),
  from: inQuery('from', seconds, { description: 'Only candles that start at or after this time, Unix seconds.', example: example.placedAt - 86_400 }),
  to: inQuery('to', seconds, { description: 'Only candles that start before this time, Unix seconds.', example: example.placedAt }),
  limit: parameter.limit(CANDLES_LIMIT), cursor,
};

const closed = (how: string) => Type.Boolean({ description: `Whether the candle is final: ${how}.` });
const CANDLE_TEXT = 'Oldest first; of more than `limit`, the latest, and `nextCursor` leads to earlier ones. An interval in which nothing happened has no candle. '
  + 'A page with `to` or `cursor` of which no candle can change any more is sent as `immutable`.';

export const getCandles = defineEndpoint({
  ...ofMarket,
  id: 'getCandles', path: '/api/v1/candles/{marketId}', summary: 'Candles of an outcome\'s trades',
  description: `${CANDLE_TEXT} A trade that the chain refuses leaves its candle, so a candle is closed only once its trades are settled.`,
  parameters: {
    ...ofMarket.parameters,
    outcome: inQuery('outcome', kind.withDefault(kind.outcome, YES, 'YES'), { description: 'YES without this parameter.', example: 'YES' }),
    ...pageParameters,
  },
  answer: {
    description: 'The candles.',
    schema: field.answer('Candles', {
      marketId: field.Bytes32, outcome: field.Outcome, interval: Type.String({ description: 'As in the request.' }),
      candles: Type.Array(field.answer('Candle', {
        start: field.Seconds, open: field.Price, high: field.Price, low: field.Price, close: field.Price,
        volume: field.amount('Stablecoin traded'), trades: field.integer('Number of trades.', 1),
        closed: closed('its time is over, and all of its trades are settled'),
      })),
      count: field.Count, nextCursor: NextCursor,
    }),
    examples: {
      'one hour': {
        marketId: example.marketId, outcome: 0, interval: '1h', count: 1,
        candles: [{
          start: example.placedAt - example.placedAt % 3_600, open: 580_000, high: 620_000, low: 580_000,
          close: 600_000,
          volume: 81_500_000, trades: 311, closed: true,
        }],
      },
    },
  },
}, ({ db, share }: SharedReads) => share('candles', ['markets', 'trades'], (params) => candlesOfMarket(db, params)));

export const getPriceCandles = defineEndpoint({
  ...read, tag: 'Prices', errors: ['unknown_asset', 'unavailable'],
  id: 'getPriceCandles', path: '/api/v1/prices/{asset}/candles', summary: 'Candles of an asset\'s price',
  description: `${CANDLE_TEXT} \`volume\` and \`trades\` are 0, since sources of prices tell none.`,
  parameters: { asset, ...pageParameters },
  answer: {
    description: 'The candles.',
    schema: field.answer('PriceCandles', {
      asset: field.Asset, interval: Type.String({ description: 'As in the request.' }),
      candles: Type.Array(field.answer('PriceCandle', {
        start: field.Seconds, open: AssetPrice, high: AssetPrice, low: AssetPrice, close: AssetPrice,
        volume: field.integer('Always 0.'), trades: field.integer('Always 0.'), prices: field.integer('Number of prices.', 1),
        closed: closed('a later one has begun'),
      })),
      count: field.Count, nextCursor: NextCursor,
    }),
    examples: {
      'one hour': {
        asset: 'BTC', interval: '1h', count: 1,
        candles: [{
          start: example.placedAt - example.placedAt % 3_600, open: 6_140_993_501_000, high: 6_150_000_000_000,
          low: 6_140_000_000_000,
          close: 6_149_000_000_000, volume: 0, trades: 0, prices: 3_600, closed: true,
        }],
      },
    },
  },
}, ({ db, share, ...assets }: SharedReads & Assets) => {
  const shared = share('price_candles', ['prices'], (params: CandlePage & { asset: string }) => candlesOfAsset(db, params));
  return (params) => {
    requireAsset(params.asset, assets);
    return shared(params);
  };
});
