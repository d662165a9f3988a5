/** A trader's open orders, read from the engine's state, for exposure checks. */
import type { MarketOutcome, Side } from '../records/fields.js';
import { marketOf, type State } from '../rules/state.js';

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
 * The open orders of an address (lower-case hex with `0x`), lowest number first; none for an unknown address. Orders that a sweep will
 * cancel count until they are cancelled. Use the generator only until the next command.
 */
export function* openOrdersOf(state: State, address: string): Generator<OpenOrder> {
  const trader = state.traders[state.traderIndex.get(address) ?? -1];
  if (trader === undefined) return;
  const { orders, columns } = state;
  for (let slot = trader.firstOpen; slot >= 0; slot = columns.nextOpen.get(slot) - 1) {
    const { chainId, marketId } = marketOf(state, slot);
    yield {
      chainId, marketId, outcome: orders.outcome(slot), side: orders.side(slot), price: orders.price(slot), remaining: orders.remaining(slot),
    };
  }
}
