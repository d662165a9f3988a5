/** The tables that follow from others, made from all trades at once: candles, counts and sums, and where channels have messages. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { FillMatched } from '../../engine/records/events.js';
import { channelRows } from '../support/channel-rows.js';
import type { Rows } from '../support/projected.js';

/** The rows of the table `candles`, in the order of their text. */
export function referenceCandles(outcomes: readonly CommandOutcome[]): Record<string, unknown>[] {
  const failed = new Set(outcomes.flatMap(({ events }) => events.flatMap((event) => event.type === 'FillFailed' ? [event.fill] : [])));
  const trades = outcomes.flatMap(({ at, events }) => events.flatMap((event) => event.type === 'FillMatched' ? [{ at, event }] : []));
  const firstFills = new Map<string, number>();
  for (const { event } of trades) if (!firstFills.has(event.marketId)) firstFills.set(event.marketId, event.fill);
  const groups = new Map<string, { key: object; fills: FillMatched[] }>();
  for (const { at, event } of trades.filter((trade) => !failed.has(trade.event.fill))) {
    for (const length of [60, 300, 900, 3_600, 86_400]) {
      const seconds = Math.floor(at / 1_000);
      const key = {
        series: String(firstFills.get(event.marketId)! * 2 + event.outcome), interval_s: length, start: String(seconds - seconds % length),
      };
      const name = JSON.stringify(key);
      if (!groups.has(name)) groups.set(name, { key, fills: [] });
      groups.get(name)!.fills.push(event);
    }
  }
  const rows = [...groups.values()].map(({ key, fills }) => {
    const prices = fills.map(({ price }) => price);
    return {
      ...key, open: prices[0], high: Math.max(...prices), low: Math.min(...prices), close: prices.at(-1),
      volume: String(fills.reduce((sum, { cost }) => sum + BigInt(cost), 0n)), trades: String(fills.length),
      first_fill: String(fills[0]!.fill), last_fill: String(fills.at(-1)!.fill),
    };
  });
  return rows.sort(byText);
}

/** The order of `readTables`. */
function byText(a: object, b: object): number {
  const text = (row: object) => `(${Object.values(row).join()})`;
  return text(a) < text(b) ? -1 : 1;
}

/** Of histories whose orders and positions are all in the one market `market`. */
export function derivedRows(market: string, outcomes: readonly CommandOutcome[], rows: Partial<Rows>): Rows {
  const markets = outcomes.flatMap(({ events }, n) => events.flatMap((event) => event.type === 'MarketOpened' ? [{ ...event, openedAt: n }] : []));
  const chains = markets.map(({ marketId, chainId }) => ({ market_id: marketId, chain_id: String(chainId) }));
  const positions = rows['positions'] ?? [];
  const trades = rows['trades'] ?? [];
  const isAnnounced = ({ tx_hash, number }: Record<string, unknown>) => (
    (rows['submissions'] ?? []).some((submission) => submission['tx_hash'] === tx_hash && (submission['fills'] as unknown[]).includes(number)));
  const holders = positions.filter((each) => [each['yes_shares'], each['no_shares']].some((shares) => BigInt(shares as string) > 0n));
  return {
    order_markets: chains,
    market_volumes: chains.map((each) => ({ ...each, volume: '0', trades: '0', first_fill: null })),
    position_markets: chains.map((each, n) => ({ ...each, opened_position: String(markets[n]!.openedAt) })),
    chain_volumes: [...new Set(markets.map(({ chainId }) => chainId))].map((chain) => ({ chain_id: String(chain), volume: '0', trades: '0' })),
    market_holders: positions.length === 0 ? [] : [{ market_id: market, holders: String(holders.length) }],
    candles: referenceCandles(outcomes),
    open_orders: (rows['orders'] ?? []).filter(({ status }) => status === 0).map(({ trader, number, chain_id }) => ({ trader, number, chain_id })).sort(byText),
    unsettled_trades: trades.filter(({ settlement }) => settlement === 0 || settlement === 1)
      .map(({ number, market_id, buyer, seller }) => ({ number, market_id, buyer, seller })),
    failed_trades: trades.filter(({ settlement }) => settlement === 3)
      .map(({ settled_at_ms, settled_position, number }) => ({ settled_at_ms, settled_position, number })),
    unannounced_settlements: trades.filter((trade) => (trade['settlement'] as number) >= 2 && !isAnnounced(trade))
      .map(({ tx_hash, number }) => ({ tx_hash, fill: number })),
    ...channelRows(outcomes),
  };
}
