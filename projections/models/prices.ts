/** The `prices` projection: the prices of each asset in the 20 minutes before its newest one, and its candles since the beginning. */
import type { PriceRecorded } from '../../engine/records/events.js';
import { int4Array, int8Array, numericArray, textArray } from '../columns.js';
import { CANDLE_INTERVALS_S } from './candles.js';
import {
  foldEvents, handledBy, type FoldedOutcome, type Handlers, type Projection, type Query,
} from '../projection.js';

/**
 * `position` is the log position of the price's RecordPrice. `price` is in units of 1e-8 US dollars, and fits into 63 bits. Each asset has the
 * prices of the 20 minutes before its newest one.
 *
 * A price counts for the candles if it is of a later second than every price before it: so a candle is complete when a later one has begun. A
 * price that only decides a quick market can be older. `interval_s` and `start` are in seconds. `price_messages` has each price that was published
 * later than every price of its asset before it: those of the messages in the asset's channel of the streams.
 */
const TABLES = [`
create table prices (
  position bigint primary key,
  asset text not null,
  source text not null,
  price numeric(19) not null,
  published_at_ms bigint not null
)`, `
create index prices_by_asset on prices (asset, published_at_ms)`, `
create table price_candles (
  asset text not null,
  interval_s integer not null,
  start bigint not null,
  open numeric(19) not null,
  high numeric(19) not null,
  low numeric(19) not null,
  close numeric(19) not null,
  prices bigint not null,
  primary key (asset, interval_s, start)
) with (fillfactor = 80)`, `
create table price_messages (
  asset text not null,
  position bigint not null,
  published_at_ms bigint not null,
  at_ms bigint not null,
  primary key (asset, position)
)`];

/** How far back prices are shown, by the time of their publication. */
const KEPT_MS = 20 * 60_000;

const INSERT_PRICES = {
  name: 'insert_prices',
  text: `
    insert into prices (position, asset, source, price, published_at_ms)
    select * from unnest($1::bigint[], $2::text[], $3::text[], $4::numeric[], $5::bigint[])`,
};

const FORGET_PRICES = {
  name: 'forget_prices',
  text: `
    delete from prices using (select asset, max(published_at_ms) as newest_ms from prices group by asset) as kept
    where prices.asset = kept.asset and published_at_ms < newest_ms - ${KEPT_MS}`,
};

const NEWEST_PRICES = {
  name: 'newest_prices',
  text: 'select asset, max(published_at_ms) from prices where asset = any($1::text[]) group by asset',
};

const WRITE_PRICE_CANDLES = {
  name: 'write_price_candles',
  text: `
    insert into price_candles (asset, interval_s, start, open, high, low, close, prices)
    select * from unnest($1::text[], $2::integer[], $3::bigint[], $4::numeric[], $5::numeric[], $6::numeric[], $7::numeric[], $8::bigint[])
    on conflict (asset, interval_s, start) do update
      set high = greatest(price_candles.high, excluded.high), low = least(price_candles.low, excluded.low), close = excluded.close,
        prices = price_candles.prices + excluded.prices`,
};

const WRITE_MESSAGES = {
  name: 'write_price_messages',
  text: 'insert into price_messages (asset, position, published_at_ms, at_ms) select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])',
};

interface Row {
  readonly event: PriceRecorded;
  readonly position: number;
  /** Engine time in milliseconds. */
  readonly at: number;
}

const EVENTS: Handlers<Row[]> = {
  PriceRecorded: (rows, event, { position, at }) => { rows.push({ event, position, at }); },
};

/** When the newest price of an asset was published, in milliseconds. */
type Newest = Map<string, number>;

export const prices: Projection = {
  name: 'prices', version: 3, tables: TABLES, handles: handledBy(EVENTS),
  start: () => {
    const newest: Newest = new Map();
    return (batch, query) => fold(batch, query, newest);
  },
};

async function fold(batch: readonly FoldedOutcome[], query: Query, newest: Newest): Promise<void> {
  const rows = foldEvents(EVENTS, batch, []);
  if (rows.length === 0) return;
  await loadNewest(rows, newest, query);
  const steps = rows.map((row) => ({ ...row, ...advance(row.event, newest) }));
  const candles = candlesOf(steps.filter(({ isOfLaterSecond }) => isOfLaterSecond));
  const news = steps.filter(({ isLater }) => isLater);
  await Promise.all([
    query(INSERT_PRICES, [
      int8Array(rows.map(({ position }) => position)),
      textArray(rows.map(({ event }) => event.asset)),
      textArray(rows.map(({ event }) => event.source)),
      numericArray(rows.map(({ event }) => event.price)),
      int8Array(rows.map(({ event }) => event.publishedAt)),
    ]),
    query(FORGET_PRICES, []),
    query(WRITE_PRICE_CANDLES, [
      textArray(candles.map(({ asset }) => asset)),
      int4Array(candles.map(({ interval }) => interval)),
      int8Array(candles.map(({ start }) => start)),
      ...(['open', 'high', 'low', 'close'] as const).map((price) => numericArray(candles.map((candle) => candle[price]))),
      int8Array(candles.map((candle) => candle.prices)),
    ]),
    query(WRITE_MESSAGES, [
      textArray(news.map(({ event }) => event.asset)), int8Array(news.map(({ position }) => position)),
      int8Array(news.map(({ event }) => event.publishedAt)), int8Array(news.map(({ at }) => at)),
    ]),
  ]);
}

async function loadNewest(rows: readonly Row[], newest: Newest, query: Query): Promise<void> {
  const unknown = new Set(rows.map(({ event }) => event.asset).filter((asset) => !newest.has(asset)));
  if (unknown.size === 0) return;
  for (const [asset, at] of await query<[string, string]>(NEWEST_PRICES, [textArray([...unknown])])) newest.set(asset, Number(at));
}

/** Whether the price was published later than all before it, and in a later second; it is one of them from now on. */
function advance({ asset, publishedAt }: PriceRecorded, newest: Newest): { readonly isLater: boolean; readonly isOfLaterSecond: boolean } {
  const before = newest.get(asset) ?? -1;
  newest.set(asset, Math.max(before, publishedAt));
  return { isLater: publishedAt > before, isOfLaterSecond: Math.floor(publishedAt / 1_000) > Math.floor(before / 1_000) };
}

interface PriceCandle {
  readonly asset: string;
  readonly interval: number;
  readonly start: number;
  readonly open: bigint;
  high: bigint;
  low: bigint;
  close: bigint;
  prices: number;
}

function candlesOf(rows: readonly Row[]): PriceCandle[] {
  const candles = new Map<string, PriceCandle>();
  for (const { event: { asset, publishedAt, price: digits } } of rows) {
    const price = BigInt(digits);
    for (const interval of CANDLE_INTERVALS_S) {
      const start = Math.floor(publishedAt / 1_000 / interval) * interval;
      const key = `${asset} ${interval} ${start}`;
      const candle = candles.get(key);
      if (candle === undefined) {
        candles.set(key, { asset, interval, start, open: price, high: price, low: price, close: price, prices: 1 });
        continue;
      }
      if (price > candle.high) candle.high = price;
      if (price < candle.low) candle.low = price;
      candle.close = price;
      candle.prices += 1;
    }
  }
  return [...candles.values()];
}
