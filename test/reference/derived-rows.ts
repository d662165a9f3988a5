/** The tables that follow from others: candles, the counts and sums by market and chain, and where channels have messages. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import { channelRows } from '../support/channel-rows.js';
import type { Rows } from '../support/projected.js';
import { referenceCandles } from './candles.js';

/** Of histories whose orders and positions are all in the one market `market`. */
export function derivedRows(market: string, outcomes: readonly CommandOutcome[], rows: Partial<Rows>): Rows {
  const markets = outcomes.flatMap(({ events }, n) => events.flatMap((event) => event.type === 'MarketOpened' ? [{ ...event, openedAt: n }] : []));
  const chains = markets.map(({ marketId, chainId }) => ({ market_id: marketId, chain_id: String(chainId) }));
  const positions = rows['positions'] ?? [];
  const holders = positions.filter((each) => [each['yes_shares'], each['no_shares']].some((shares) => BigInt(shares as string) > 0n));
  return {
    order_markets: chains,
    market_volumes: chains.map((each) => ({ ...each, volume: '0', trades: '0', first_fill: null })),
    position_markets: chains.map((each, n) => ({ ...each, opened_position: String(markets[n]!.openedAt) })),
    chain_volumes: [...new Set(markets.map(({ chainId }) => chainId))].map((chain) => ({ chain_id: String(chain), volume: '0', trades: '0' })),
    market_holders: positions.length === 0 ? [] : [{ market_id: market, holders: String(holders.length) }],
    candles: referenceCandles(outcomes),
    ...channelRows(outcomes),
  };
}
