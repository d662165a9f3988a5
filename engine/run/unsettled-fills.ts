/** The fills that still have to be settled on a chain, read from the engine's state: what a settlement worker works off. */
import { costOf } from '../records/amounts.js';
import type { MarketOutcome } from '../records/fields.js';
import { marketOf, type State } from '../rules/state.js';

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
 * The chain's unsettled fills with numbers of `from` and higher, ascending. To be read to its end, or left, before the next command.
 * Costs next to nothing where there is no such fill.
 */
export function* unsettledFills(state: State, { chainId, from }: { chainId: number; from: number }): Generator<UnsettledFill> {
  if (from >= state.nextFill) return;
  const { orders, columns, traders } = state;
  for (const fill of state.fills.numbers(from)) {
    const { buySlot, sellSlot, price, size } = state.fills.get(fill)!;
    const market = marketOf(state, buySlot);
    if (market.chainId !== chainId) continue;
    yield {
      fill, marketId: market.marketId, chainId, outcome: orders.outcome(buySlot), price, size, cost: costOf(size, price),
      buyNumber: orders.number(buySlot), sellNumber: orders.number(sellSlot),
      buyer: traders[columns.trader.get(buySlot)]!.address, seller: traders[columns.trader.get(sellSlot)]!.address,
    };
  }
}
