/** `GET /ticker/{marketId}`: the best prices of both outcomes, the last one, and what has changed within a day. */
import { BUY, NO, SELL, YES, type MarketOutcome } from '../engine/records/fields.js';
import * as field from '../engine/records/answer-fields.js';
import { Type } from '../engine/records/schema-types.js';
import { defineEndpoint } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import type { Database } from './database.js';
import { ofMarket, type SharedReads } from './reading.js';
import { answer, answering, bytes, hex, jsonObject, type Answer } from './statement.js';

const DAY_S = 86_400;
const MINUTE_MS = 60_000;

/**
 * $1 is the market, $2 the minute (Unix seconds) from which on the volume counts, and before which the price to compare
 * with was.
 */
const tickerOf = answering('ticker', ['markets', 'orders', 'trades'], jsonObject(`
  select ${hex('market_id')} as "marketId", ${ofOutcome(YES)}::json as yes, ${ofOutcome(NO)}::json as no from markets where market_id = $1`));

/**
 * SQL: an outcome's part. The last price is that of the last candle, which does not need the trades of the other
 * outcome to be passed.
 */
function ofOutcome(outcome: MarketOutcome): string {
  const best = (side: number, order: string) => `coalesce((
    select price from levels where market_id = $1 and outcome = ${outcome} and side = ${side} order by price ${order} limit 1), 0)`;
  const candles = (interval: number) => `
    from candles where series = (select first_fill * 2 + ${outcome} from market_volumes where market_id = $1) and interval_s = ${interval}`;
  return jsonObject(`
    select bid as "bestBid", ask as "bestAsk", case when bid > 0 and ask > 0 then (bid + ask) / 2 else 0 end as mid,
      case when bid > 0 and ask > 0 then ask - bid else 0 end as spread, last as "lastPrice", last - before as "change24h", volume as "volume24h"
    from (select ${best(BUY, 'desc')} as bid, ${best(SELL, 'asc')} as ask,
      coalesce((select close ${candles(DAY_S)} order by start desc limit 1), 0) as last,
      coalesce((select close ${candles(60)} and start < $2::bigint order by start desc limit 1),
        (select open ${candles(DAY_S)} order by start limit 1), 0) as before,
      (select coalesce(sum(volume), 0) ${candles(60)} and start >= $2::bigint) as volume) of_outcome`);
}

/** The day ends with the minute of `nowMs`. Failed trades are not counted. Throws RequestError `unknown_market`. */
export function ticker(db: Database, { marketId, nowMs }: { marketId: string; nowMs: number }): Promise<Answer> {
  return answer(db, tickerOf, [bytes(marketId), dayBefore(nowMs)], 'unknown_market');
}

/** The minute that began a day before this one, in Unix seconds. */
export function dayBefore(nowMs: number): number {
  return Math.floor(nowMs / MINUTE_MS) * 60 - DAY_S;
}

const Ticker = field.answer('OutcomeTicker', {
  bestBid: field.PriceOrNone, bestAsk: field.PriceOrNone,
  mid: { ...field.PriceOrNone, description: 'Half of the sum of both, rounded down; 0 without a bid or an ask.' },
  spread: { ...field.PriceOrNone, description: 'Ask less bid; 0 without a bid or an ask.' },
  lastPrice: field.PriceOrNone,
  change24h: Type.Integer({
    description: 'Last price less the price a day ago, to the minute; of an outcome without a trade then, less its first price.',
  }),
  volume24h: field.amount('Stablecoin traded in the last 24 hours, to the minute'),
});
const outcome = {
  bestBid: 580_000, bestAsk: 600_000, mid: 590_000, spread: 20_000, lastPrice: 600_000, change24h: 15_000,
  volume24h: 6_000_000,
};

export const getTicker = defineEndpoint({
  ...ofMarket,
  id: 'getTicker', path: '/api/v1/ticker/{marketId}', summary: 'Best prices and the last day of a market',
  description: 'One entry per outcome. A price that does not exist is 0. Trades that failed to settle are not counted.',
  answer: {
    description: 'The tickers.',
    schema: field.answer('Ticker', { marketId: field.Bytes32, yes: Ticker, no: Ticker }),
    examples: {
      'one outcome traded': {
        marketId: example.marketId, yes: outcome,
        no: { bestBid: 0, bestAsk: 0, mid: 0, spread: 0, lastPrice: 0, change24h: 0, volume24h: 0 },
      },
    },
  },
}, ({ db, share, now }: SharedReads) => {
  const shared = share('ticker', ['markets', 'orders', 'trades'], (asked: { marketId: string; nowMs: number }) => ticker(db, asked));
  // All of one minute are the same.
  return ({ marketId }) => shared({ marketId, nowMs: Math.floor(now() / MINUTE_MS) * MINUTE_MS });
});
