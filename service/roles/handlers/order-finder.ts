/** Finds any order that was ever accepted: recent and open orders in the engine's state, all others in the read model. */
import type { FindOrder } from '../../../command/orders/answer.js';
import type { EngineView } from '../../../engine/run/view.js';
import type { Database } from '../../../query/database.js';
import { findOrder } from '../../../query/order.js';

export function createOrderFinder(view: Pick<EngineView, 'order' | 'market'>, db: Database): FindOrder {
  return async (orderHash) => {
    const live = view.order(orderHash);
    if (live !== undefined) return live;
    const recorded = await findOrder(db, orderHash);
    const market = recorded === undefined ? undefined : view.market(recorded.marketId);
    if (recorded === undefined || market === undefined) return undefined;
    const { orderNumber, marketId, trader, side, status, closedPosition } = recorded;
    const [size, remaining] = [String(recorded.size), String(recorded.remaining)];
    const order = { orderNumber, marketId, trader, side, status, chainId: market.chainId, size, remaining };
    return closedPosition === null ? order : { ...order, asOf: closedPosition };
  };
}
