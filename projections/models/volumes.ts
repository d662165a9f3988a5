/** Volumes in collateral, all-time and per minute. Changes are added to the sums; a sum that returns to 0 keeps its row. */
import { byteaArray, int8Array, numericArray } from '../columns.js';

/** SQL: common table expressions that add six columns to the volumes. The first column is parameter number `first`. */
export function addVolumes(first: number): string {
  const $ = (n: number) => `$${first + n}`;
  return `
    all_time as (
      insert into market_volumes (market_id, volume, trades) select * from unnest(${$(0)}::bytea[], ${$(1)}::numeric[], ${$(2)}::bigint[])
      on conflict (market_id) do update
        set volume = market_volumes.volume + excluded.volume, trades = market_volumes.trades + excluded.trades
    ), by_minute as (
      insert into minute_volumes (market_id, minute, volume) select * from unnest(${$(3)}::bytea[], ${$(4)}::bigint[], ${$(5)}::numeric[])
      on conflict (market_id, minute) do update set volume = minute_volumes.volume + excluded.volume
    )`;
}

const MINUTE_MS = 60_000;

/** A trade that matched (count 1), or that failed (count -1, cost negative). `at` is when the trade matched. */
export interface Traded {
  readonly marketId: string;
  readonly at: number;
  readonly cost: bigint;
  readonly count: 1 | -1;
}

interface MarketVolume {
  volume: bigint;
  trades: number;
  readonly minutes: Map<number, bigint>;
}

/** The volumes that these trades add per market and minute, as the columns for `addVolumes`. */
export function volumeColumns(traded: readonly Traded[]): unknown[] {
  const markets = new Map<string, MarketVolume>();
  for (const { marketId, at, cost, count } of traded) {
    let market = markets.get(marketId);
    if (market === undefined) markets.set(marketId, market = { volume: 0n, trades: 0, minutes: new Map() });
    market.volume += cost;
    market.trades += count;
    const minute = Math.floor(at / MINUTE_MS);
    market.minutes.set(minute, (market.minutes.get(minute) ?? 0n) + cost);
  }
  const totals = [...markets.values()];
  const minutes = [...markets].flatMap(([marketId, market]) => (
    [...market.minutes].map(([minute, volume]) => ({ marketId, minute, volume }))));
  return [
    byteaArray([...markets.keys()]),
    numericArray(totals.map(({ volume }) => volume)),
    int8Array(totals.map(({ trades }) => trades)),
    byteaArray(minutes.map(({ marketId }) => marketId)),
    int8Array(minutes.map(({ minute }) => minute)),
    numericArray(minutes.map(({ volume }) => volume)),
  ];
}
