/** Fills the tables of the read models that follow from other tables, for read models whose rows a test or a benchmark writes itself. */

const INTERVALS_S = [60, 300, 900, 3_600, 86_400];

/** SQL statements, to be run in this order, each over all rows. A test compares what they make with what the projections make. */
export const DERIVE: readonly string[] = [
  'truncate order_markets, position_markets, market_holders, chain_volumes, candles, open_orders, unsettled_trades, failed_trades, unannounced_settlements',
  'insert into order_markets select market_id, chain_id from markets',
  'update orders set chain_id = order_markets.chain_id from order_markets where order_markets.market_id = orders.market_id',
  'insert into open_orders select trader, number, chain_id from orders where status = 0',
  'insert into position_markets select market_id, chain_id, opened_position from markets',
  `insert into market_holders
    select market_id, count(*) filter (where yes_shares > 0 or no_shares > 0) from positions group by market_id`,
  `update positions set chain_id = markets.chain_id, opened_position = markets.opened_position,
    held = yes_shares <> 0 or no_shares <> 0 or yes_cost <> 0 or no_cost <> 0
    from markets where markets.market_id = positions.market_id`,
  `insert into market_volumes (market_id, chain_id, volume, trades) select market_id, chain_id, 0, 0 from markets on conflict do nothing`,
  `update market_volumes set chain_id = markets.chain_id from markets where markets.market_id = market_volumes.market_id`,
  `update market_volumes set first_fill = made.number
    from (select market_id, min(number) as number from trades group by market_id) made where made.market_id = market_volumes.market_id`,
  `insert into chain_volumes
    select chain_id, sum(volume), sum(trades) from market_volumes where chain_id is not null group by chain_id`,
  'insert into unsettled_trades select number, market_id, buyer, seller from trades where settlement < 2',
  'insert into failed_trades select settled_at_ms, settled_position, number from trades where settlement = 3 and settled_at_ms + settled_position is not null',
  `insert into unannounced_settlements
    select tx_hash, number from trades
    where settlement >= 2 and tx_hash is not null and not exists (select from submissions where submissions.tx_hash = trades.tx_hash and number = any(fills))`,
  ...INTERVALS_S.map((interval) => `
    insert into candles
    select first_fill * 2 + outcome, ${interval}, at_ms / ${interval}000 * ${interval}, (array_agg(price order by number))[1], max(price), min(price),
      (array_agg(price order by number desc))[1], sum(cost), count(*), min(number), max(number)
    from trades join market_volumes using (market_id) where settlement <> 3 group by 1, 3`),
];
