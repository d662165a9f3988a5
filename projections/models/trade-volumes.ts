/**
 * The volumes of the `trades` projection: collateral and trades without failed ones, per market, per minute and per
 * chain.
 */
import type { MarketOpened } from '../../engine/records/events.js';
import { byteaArray, int8Array, numericArray, rowsFrom } from '../columns.js';
import type { Query } from '../projection.js';

/**
 * `market_volumes` has every market, and `chain_volumes` every chain with a market, also before the first trade.
 * `first_fill` is the number of the market's first fill, whatever became of it. A sum that returns to 0 keeps its row.
 * `chain_id` is null for a market that was never opened.
 */
export const VOLUME_TABLES = [`
create table market_volumes (
  market_id bytea primary key,
  chain_id bigint,
  volume numeric not null,
  trades bigint not null,
  first_fill bigint
)`, `
create index market_volumes_by_volume on market_volumes (volume, market_id)`, `
create table minute_volumes (
  market_id bytea not null,
  minute bigint not null,
  volume numeric not null,
  primary key (market_id, minute)
)`, `
create table chain_volumes (
  chain_id bigint primary key,
  volume numeric not null,
  trades bigint not null
)`];

const ADD_MARKETS = {
  name: 'add_market_volumes',
  text: `
    with chains as (
      insert into chain_volumes (chain_id, volume, trades) select distinct chain_id, 0, 0 from unnest($2::bigint[]) as chain_id
      on conflict (chain_id) do nothing
    )
    insert into market_volumes (market_id, chain_id, volume, trades)
    select market_id, chain_id, 0, 0 from unnest($1::bytea[], $2::bigint[]) as opened (market_id, chain_id)`,
};

/** Changes are added to the sums. One statement, because each statement costs a round trip. */
const WRITE_VOLUMES = {
  name: 'write_volumes',
  text: `
    with all_time as (
      insert into market_volumes (market_id, volume, trades, first_fill)
      ${rowsFrom(1, 'market_id bytea, volume numeric, trades bigint, first_fill bigint')}
      on conflict (market_id) do update
        set volume = market_volumes.volume + excluded.volume, trades = market_volumes.trades + excluded.trades,
          first_fill = coalesce(market_volumes.first_fill, excluded.first_fill)
    ), by_chain as (
      update chain_volumes set volume = chain_volumes.volume + added.volume, trades = chain_volumes.trades + added.trades
      from (
        select chain_id, sum(added.volume) as volume, sum(added.trades) as trades
        from unnest($1::bytea[], $2::numeric[], $3::bigint[]) as added (market_id, volume, trades) join market_volumes using (market_id)
        group by chain_id
      ) added
      where chain_volumes.chain_id = added.chain_id
    )
    insert into minute_volumes (market_id, minute, volume) ${rowsFrom(5, 'market_id bytea, minute bigint, volume numeric')}
    on conflict (market_id, minute) do update set volume = minute_volumes.volume + excluded.volume`,
};

const MINUTE_MS = 60_000;

/** A trade that matched (count 1), or that failed (count -1). `at` is when the trade matched, in milliseconds. */
export interface CountedTrade {
  readonly fill: number;
  readonly marketId: string;
  readonly at: number;
  readonly cost: string;
  readonly count: 1 | -1;
}

interface MarketVolume {
  readonly firstFill: number;
  volume: bigint;
  trades: number;
  readonly minutes: Map<number, bigint>;
}

/** Adds new markets, without volume. */
export async function addMarkets(opened: readonly MarketOpened[], query: Query): Promise<void> {
  if (opened.length === 0) return;
  await query(
    ADD_MARKETS, [byteaArray(opened.map(({ marketId }) => marketId)), int8Array(opened.map(({ chainId }) => chainId))],
  );
}

/** Adds these trades to the volumes. They come in the order of their numbers, the failed ones after the new ones. */
export async function writeVolumes(traded: readonly CountedTrade[], query: Query): Promise<void> {
  const markets = new Map<string, MarketVolume>();
  for (const { fill, marketId, at, cost, count } of traded) {
    let market = markets.get(marketId);
    if (market === undefined) {
      markets.set(marketId, market = { firstFill: fill, volume: 0n, trades: 0, minutes: new Map() });
    }
    const change = BigInt(cost) * BigInt(count);
    market.volume += change;
    market.trades += count;
    const minute = Math.floor(at / MINUTE_MS);
    market.minutes.set(minute, (market.minutes.get(minute) ?? 0n) + change);
  }
  const totals = [...markets.values()];
  const minutes = [...markets].flatMap(([marketId, market]) => (
    [...market.minutes].map(([minute, volume]) => ({ marketId, minute, volume }))));
  await query(WRITE_VOLUMES, [
    byteaArray([...markets.keys()]),
    numericArray(totals.map(({ volume }) => volume)),
    int8Array(totals.map(({ trades }) => trades)),
    int8Array(totals.map(({ firstFill }) => firstFill)),
    byteaArray(minutes.map(({ marketId }) => marketId)),
    int8Array(minutes.map(({ minute }) => minute)),
    numericArray(minutes.map(({ volume }) => volume)),
  ]);
}
