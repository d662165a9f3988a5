/**
 * The candles of the `trades` projection: prices, volume and number of an outcome's trades in each interval of time.
 * Trades that failed are not in them: a failure makes the candles of its time again, from the trades that remain.
 */
import type { FillMatched } from '../../engine/records/events.js';
import type { MarketOutcome } from '../../engine/records/fields.js';
import { byteaArray, int2Array, int4Array, int8Array, numericArray, rowsFrom } from '../columns.js';
import { remember, type Query, type PreparedStatement } from '../projection.js';

/**
 * One row per interval that has a trade. `series` is twice the number of the market's first fill plus the outcome: a
 * number instead of the market's id, since every trade writes five rows. `interval_s` and `start` are in seconds.
 * `first_fill` and `last_fill` are the candle's first and last trade. The columns that change have no index, and each
 * page has free space.
 */
export const CANDLE_TABLES = [`
create table candles (
  series bigint not null,
  interval_s integer not null,
  start bigint not null,
  open integer not null,
  high integer not null,
  low integer not null,
  close integer not null,
  volume numeric not null,
  trades bigint not null,
  first_fill bigint not null,
  last_fill bigint not null,
  primary key (series, interval_s, start)
) with (fillfactor = 80)`];

/** Each a multiple of the one before, in seconds. */
export const CANDLE_INTERVALS_S = [60, 300, 900, 3_600, 86_400] as const;
const [MINUTE_S, ...WIDER_S] = CANDLE_INTERVALS_S;

const COLUMNS = 'series, interval_s, start, open, high, low, close, volume, trades, first_fill, last_fill';

const ADDED = `market_id bytea, outcome smallint, interval_s integer, start bigint, open integer, high integer, low integer, close integer,
      volume numeric, trades bigint, first_fill bigint, last_fill bigint`;

/**
 * Merges new trades into the candles: first into those that are there for certain, since to update a row costs less than to find by an
 * insertion that it is there. The markets have their rows in `market_volumes` by then.
 */
const ADD_CANDLES: PreparedStatement = {
  name: 'add_candles',
  text: `
    with grown as (
      update candles set high = greatest(candles.high, added.high), low = least(candles.low, added.low), close = added.close,
        volume = candles.volume + added.volume, trades = candles.trades + added.trades, last_fill = added.last_fill
      from ${rowsFrom(1, ADDED)} added join market_volumes using (market_id)
      where series = market_volumes.first_fill * 2 + outcome and candles.interval_s = added.interval_s and candles.start = added.start
    )
    insert into candles (${COLUMNS})
    select market_volumes.first_fill * 2 + outcome, interval_s, start, open, high, low, close, added.volume, added.trades, added.first_fill,
      last_fill
    from ${rowsFrom(13, ADDED)} added join market_volumes using (market_id)
    on conflict (series, interval_s, start) do update
      set high = greatest(candles.high, excluded.high), low = least(candles.low, excluded.low), close = excluded.close,
        volume = candles.volume + excluded.volume, trades = candles.trades + excluded.trades, last_fill = excluded.last_fill`,
};

/** Makes the touched minutes again from the trades that have not failed; a minute without one has no candle. */
const REMAKE_MINUTES: PreparedStatement = {
  name: 'remake_minute_candles',
  text: `
    with old as (
      ${deleteTouched(MINUTE_S)}
      returning candles.series, candles.start, touched.market_id, touched.outcome, candles.first_fill, candles.last_fill
    )
    insert into candles (${COLUMNS})
    select series, ${MINUTE_S}, start, (array_agg(price order by number))[1], max(price), min(price), (array_agg(price order by number desc))[1],
      sum(cost), count(*), min(number), max(number)
    from old join trades on substr(trades.market_id, 1, 7) = substr(old.market_id, 1, 7) and trades.market_id = old.market_id and trades.number between first_fill and last_fill
      and trades.outcome = old.outcome and settlement <> 3
    group by series, start`,
};

/** The same for each wider interval, from the candles of the interval before. */
const REMAKE_WIDER: readonly PreparedStatement[] = WIDER_S.map((interval, place) => ({
  name: `remake_candles_${interval}`,
  text: `
    with old as (${deleteTouched(interval)} returning candles.series, candles.start)
    insert into candles (${COLUMNS})
    select old.series, ${interval}, old.start, (array_agg(open order by part.start))[1], max(high), min(low),
      (array_agg(close order by part.start desc))[1], sum(volume), sum(trades), min(first_fill), max(last_fill)
    from old join candles part on part.series = old.series and part.interval_s = ${CANDLE_INTERVALS_S[place]}
      and part.start >= old.start and part.start < old.start + ${interval}
    group by old.series, old.start`,
}));

/**
 * SQL: deletes the candles of this interval that have one of the moments $3 (seconds) of the market $1 and the outcome
 * $2.
 */
function deleteTouched(interval: number): string {
  return `
      delete from candles using (
        select distinct first_fill * 2 + outcome as series, market_id, outcome, moment / ${interval} * ${interval} as start
        from unnest($1::bytea[], $2::smallint[], $3::bigint[]) as failed (market_id, outcome, moment) join market_volumes using (market_id)
      ) touched
      where candles.series = touched.series and candles.interval_s = ${interval} and candles.start = touched.start`;
}

/** A trade, and when it matched in milliseconds. */
export interface TimedTrade {
  readonly event: Pick<FillMatched, 'fill' | 'marketId' | 'outcome' | 'price' | 'cost'>;
  readonly at: number;
}

interface Candle {
  readonly marketId: string;
  readonly outcome: MarketOutcome;
  readonly interval: number;
  readonly start: number;
  readonly open: number;
  high: number;
  low: number;
  close: number;
  volume: bigint;
  trades: number;
  readonly firstFill: number;
  lastFill: number;
}

/** The number of outcomes of markets whose newest candles are remembered between batches. */
const REMEMBERED = 10_000;

/** The fold of the candles. */
export interface Candles {
  /** Adds trades, in the order of their numbers. */
  write(trades: readonly TimedTrade[], query: Query): Promise<void>;
  /** Makes the candles again that had these trades, which have failed. Call it once the trades say so. */
  remake(failed: readonly TimedTrade[], query: Query): Promise<void>;
}

export function startCandles(): Candles {
  /** The start of each interval's newest candle, by market and outcome. */
  const newest = remember<string, Map<number, number>>(REMEMBERED);
  return {
    async write(trades, query) {
      if (trades.length === 0) return;
      const grown: Candle[] = [];
      const others: Candle[] = [];
      for (const candle of candlesOf(trades)) {
        const series = seriesOf(candle);
        let starts = newest.get(series);
        if (starts === undefined) newest.set(series, starts = new Map());
        (starts.get(candle.interval) === candle.start ? grown : others).push(candle);
        starts.set(candle.interval, candle.start);
      }
      await query(ADD_CANDLES, [...candleColumns(grown), ...candleColumns(others)]);
    },
    async remake(failed, query) {
      if (failed.length === 0) return;
      // A minute whose trades have all failed has no candle any more.
      for (const { event } of failed) newest.delete(seriesOf(event));
      const columns = [
        byteaArray(failed.map(({ event }) => event.marketId)),
        int2Array(failed.map(({ event }) => event.outcome)),
        int8Array(failed.map(({ at }) => Math.floor(at / 1_000))),
      ];
      // Postgres runs them in this order, each over what the one before has made.
      await Promise.all([REMAKE_MINUTES, ...REMAKE_WIDER].map((statement) => query(statement, columns)));
    },
  };
}

function seriesOf({ marketId, outcome }: Pick<Candle, 'marketId' | 'outcome'>): string {
  return `${marketId}${outcome}`;
}

function candleColumns(candles: readonly Candle[]): unknown[] {
  return [
    byteaArray(candles.map(({ marketId }) => marketId)),
    int2Array(candles.map(({ outcome }) => outcome)),
    int4Array(candles.map(({ interval }) => interval)),
    int8Array(candles.map(({ start }) => start)),
    int4Array(candles.map(({ open }) => open)),
    int4Array(candles.map(({ high }) => high)),
    int4Array(candles.map(({ low }) => low)),
    int4Array(candles.map(({ close }) => close)),
    numericArray(candles.map(({ volume }) => volume)),
    int8Array(candles.map(({ trades }) => trades)),
    int8Array(candles.map(({ firstFill }) => firstFill)),
    int8Array(candles.map(({ lastFill }) => lastFill)),
  ];
}

/** The candles of these trades alone. */
function candlesOf(trades: readonly TimedTrade[]): Candle[] {
  const candles = new Map<string, Candle>();
  for (const { event: { fill, marketId, outcome, price, cost }, at } of trades) {
    for (const interval of CANDLE_INTERVALS_S) {
      const start = Math.floor(at / 1_000 / interval) * interval;
      const key = `${marketId}${outcome} ${interval} ${start}`;
      const candle = candles.get(key);
      if (candle === undefined) {
        candles.set(key, {
          marketId, outcome, interval, start, open: price, high: price, low: price, close: price, volume: BigInt(cost),
          trades: 1,
          firstFill: fill, lastFill: fill,
        });
        continue;
      }
      candle.high = Math.max(candle.high, price);
      candle.low = Math.min(candle.low, price);
      candle.close = price;
      candle.volume += BigInt(cost);
      candle.trades += 1;
      candle.lastFill = fill;
    }
  }
  return [...candles.values()];
}
