/** Volumes in collateral, all-time and by the minute. Changes add up; a sum that is back at 0 keeps its row. */
import { byteaArray, int8Array, numericArray } from './columns.js';
import type { Query } from './projection.js';

const UPSERT_MARKET_VOLUMES = {
  name: 'upsert_market_volumes',
  text: `
    insert into market_volumes (market_id, volume, trades) select * from unnest($1::bytea[], $2::numeric[], $3::bigint[])
    on conflict (market_id) do update
      set volume = market_volumes.volume + excluded.volume, trades = market_volumes.trades + excluded.trades`,
};

const UPSERT_MINUTE_VOLUMES = {
  name: 'upsert_minute_volumes',
  text: `
    insert into minute_volumes (market_id, minute, volume) select * from unnest($1::bytea[], $2::bigint[], $3::numeric[])
    on conflict (market_id, minute) do update set volume = minute_volumes.volume + excluded.volume`,
};

const MINUTE_MS = 60_000;

/** A trade made (count 1) or taken back (count -1, cost negative); `at` is when it was made. */
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

/** Adds these trades to their markets' volumes and minutes. */
export async function foldVolumes(traded: readonly Traded[], query: Query): Promise<void> {
  if (traded.length === 0) return;
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
  await query(UPSERT_MARKET_VOLUMES, [
    byteaArray([...markets.keys()]),
    numericArray(totals.map(({ volume }) => volume)),
    int8Array(totals.map(({ trades }) => trades)),
  ]);
  const minutes = [...markets].flatMap(([marketId, market]) => (
    [...market.minutes].map(([minute, volume]) => ({ marketId, minute, volume }))));
  await query(UPSERT_MINUTE_VOLUMES, [
    byteaArray(minutes.map(({ marketId }) => marketId)), int8Array(minutes.map(({ minute }) => minute)),
    numericArray(minutes.map(({ volume }) => volume)),
  ]);
}
