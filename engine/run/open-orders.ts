/** A trader's open orders, and what they and the trader's unsettled fills need, read from the engine's state. */
import { costOf } from '../records/amounts.js';
import { BUY, SELL, type MarketOutcome, type Side } from '../records/fields.js';
import { lives, marketOf, type State } from '../rules/state.js';
import { unsettledFills } from './unsettled-fills.js';

export interface OpenOrder {
  readonly chainId: number;
  readonly marketId: string;
  readonly outcome: MarketOutcome;
  readonly side: Side;
  /** In ticks of 1e-6. */
  readonly price: number;
  /** In 1e-6 shares. */
  readonly remaining: bigint;
}

/**
 * The open orders of an address (lower-case hex with `0x`), lowest number first; none for an unknown address. Orders
 * that a sweep will cancel count until they are cancelled. Use the generator only until the next command.
 */
export function* openOrdersOf(state: State, address: string): Generator<OpenOrder> {
  const trader = state.traders[state.traderIndex.get(address) ?? -1];
  if (trader === undefined) return;
  const { orders, columns } = state;
  for (let slot = trader.firstOpen; slot >= 0; slot = columns.nextOpen.get(slot) - 1) {
    const { chainId, marketId } = marketOf(state, slot);
    yield {
      chainId, marketId, outcome: orders.outcome(slot), side: orders.side(slot), price: orders.price(slot),
      remaining: orders.remaining(slot),
    };
  }
}

/** What one order still needs: a buy the collateral, a sell the shares. */
export interface Commitment {
  /** The number of the unsettled fill; undefined for an open order. */
  readonly fill?: number;
  readonly orderHash: string;
  readonly marketId: string;
  readonly side: Side;
  readonly outcome: MarketOutcome;
  /** In 1e-6 shares. */
  readonly size: bigint;
  /** In 1e-6 of the collateral, rounded up. */
  readonly cost: bigint;
}

/**
 * The commitments of an address (lower-case hex with `0x`) on a chain: open orders first, then unsettled fills, of
 * which an order may have several. Orders that can no longer match are left out. Use the generator only until the next
 * command.
 */
export function* commitmentsOf(
  state: State, { trader: address, chainId }: { trader: string; chainId: number },
): Generator<Commitment> {
  const trader = state.traders[state.traderIndex.get(address) ?? -1];
  if (trader === undefined) return;
  const { orders, columns } = state;
  for (let slot = trader.firstOpen; slot >= 0; slot = columns.nextOpen.get(slot) - 1) {
    const { marketId, chainId: own } = marketOf(state, slot);
    if (own !== chainId || !lives(state, slot)) continue;
    const size = orders.remaining(slot);
    yield {
      orderHash: orders.hashOf(slot), marketId, side: orders.side(slot), outcome: orders.outcome(slot), size,
      cost: costOf(size, orders.price(slot)),
    };
  }
  for (const { marketId, outcome, size, cost, buyer, seller, fill } of unsettledFills(state, { chainId, from: 0 })) {
    const pending = state.fills.get(fill);
    if (pending === undefined) continue;
    if (buyer === address) {
      yield { fill, orderHash: orders.hashOf(pending.buySlot), marketId, side: BUY, outcome, size, cost };
    }
    if (seller === address) {
      yield { fill, orderHash: orders.hashOf(pending.sellSlot), marketId, side: SELL, outcome, size, cost };
    }
  }
}
