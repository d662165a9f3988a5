/** What intake asks of the running engine's state, which knows every order at once where the read models may lag. */
import { formatUint64 } from '../../engine/book/uint64.js';
import { FILLED, OPEN, marketOf, type Market, type State } from '../../engine/rules/state.js';
import type { KnownOrder } from './answer.js';

/** A market by its id, open or closed. */
export function findMarket(state: State, marketId: string): Market | undefined {
  const index = state.marketIndex.get(marketId);
  return index === undefined ? undefined : state.markets[index];
}

/** An order by its hash. Undefined for one that never was, or that the engine has forgotten: ask the read models then. */
export function findEngineOrder(state: State, orderHash: string): KnownOrder | undefined {
  const { orders, columns } = state;
  const slot = orders.find(orderHash);
  if (slot < 0) return undefined;
  const { marketId, chainId } = marketOf(state, slot);
  return {
    orderNumber: orders.number(slot), marketId, chainId,
    trader: state.traders[columns.trader.get(slot)]!.address, side: orders.side(slot),
    size: formatUint64(columns.sizeHi.get(slot), columns.sizeLo.get(slot)), remaining: orders.remaining(slot).toString(),
    status: statusOf(columns.status.get(slot)), asOf: state.position - 1,
  };
}

function statusOf(status: number): KnownOrder['status'] {
  switch (status) {
    case OPEN: return 'open';
    case FILLED: return 'filled';
    default: return 'cancelled';
  }
}

/** The trader of an order that the engine knows. Throws for one that it does not. */
export function traderOfOrder(state: State, orderHash: string): string {
  const slot = state.orders.find(orderHash);
  if (slot < 0) throw new Error(`order ${orderHash} is not known to the engine`);
  return state.traders[state.columns.trader.get(slot)]!.address;
}
