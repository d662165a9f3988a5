/** The fills that are not settled on a chain yet, read from the engine's state, for the settlement worker. */
import { costOf } from '../records/amounts.js';
import type { MarketOutcome } from '../records/fields.js';
import { marketOf, ownerOf, type State } from '../rules/state.js';

export interface UnsettledFill {
  readonly fill: number;
  readonly marketId: string;
  readonly chainId: number;
  readonly outcome: MarketOutcome;
  /** In ticks of 1e-6. */
  readonly price: number;
  /** In 1e-6 shares. */
  readonly size: bigint;
  /** In 1e-6 of the collateral. */
  readonly cost: bigint;
  /** The orders' numbers: the log positions of their PlaceOrder commands. */
  readonly buyNumber: number;
  readonly sellNumber: number;
  readonly buyer: string;
  readonly seller: string;
}

/**
 * The chain's unsettled fills with numbers from `from` on, ascending. Use the generator only until the next command. Cheap when there is
 * no such fill.
 */
export function* unsettledFills(state: State, { chainId, from }: { chainId: number; from: number }): Generator<UnsettledFill> {
  if (from >= state.nextFill) return;
  const { orders } = state;
  for (const fill of state.fills.numbers(from)) {
    const pending = state.fills.get(fill);
    if (pending === undefined) continue;
    const { buySlot, sellSlot, price, size } = pending;
    const market = marketOf(state, buySlot);
    if (market.chainId !== chainId) continue;
    yield {
      fill, marketId: market.marketId, chainId, outcome: orders.outcome(buySlot), price, size, cost: costOf(size, price),
      buyNumber: orders.number(buySlot), sellNumber: orders.number(sellSlot),
      buyer: ownerOf(state, buySlot).address, seller: ownerOf(state, sellSlot).address,
    };
  }
}
