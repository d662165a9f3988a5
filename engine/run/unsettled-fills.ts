/** The fills that are not settled on a chain yet, read from the engine's state, for the settlement worker. */
import { costOf } from '../records/amounts.js';
import type { MarketOutcome } from '../records/fields.js';
import type { PendingFill } from '../rules/pending-fills.js';
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

/** An unsettled fill with the hashes of its two orders, lower-case. */
export interface MatchedFill extends UnsettledFill {
  readonly buyOrder: string;
  readonly sellOrder: string;
}

/**
 * The chain's unsettled fills with numbers from `from` on, ascending. Use the generator only until the next command.
 * Cheap when there is no such fill.
 */
export function* unsettledFills(
  state: State, { chainId, from }: { chainId: number; from: number },
): Generator<UnsettledFill> {
  if (from >= state.nextFill) return;
  for (const fill of state.fills.numbers(from)) {
    const pending = state.fills.get(fill);
    if (pending !== undefined && marketOf(state, pending.buySlot).chainId === chainId) {
      yield fieldsOf(state, fill, pending);
    }
  }
}

/** The chain's unsettled fill with this number; undefined when there is none. */
export function unsettledFill(
  state: State, { chainId, fill }: { chainId: number; fill: number },
): MatchedFill | undefined {
  const pending = state.fills.get(fill);
  if (pending === undefined || marketOf(state, pending.buySlot).chainId !== chainId) return undefined;
  const { orders } = state;
  return {
    ...fieldsOf(state, fill, pending), buyOrder: orders.hashOf(pending.buySlot),
    sellOrder: orders.hashOf(pending.sellSlot),
  };
}

function fieldsOf(state: State, fill: number, { buySlot, sellSlot, price, size }: PendingFill): UnsettledFill {
  const { orders } = state;
  const { marketId, chainId } = marketOf(state, buySlot);
  return {
    fill, marketId, chainId, outcome: orders.outcome(buySlot), price, size, cost: costOf(size, price),
    buyNumber: orders.number(buySlot), sellNumber: orders.number(sellSlot),
    buyer: ownerOf(state, buySlot).address, seller: ownerOf(state, sellSlot).address,
  };
}
