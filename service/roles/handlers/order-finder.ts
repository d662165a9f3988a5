/** Finds orders where they are known: recent and open orders in the engine's state, all others in the read model. */
import type { FindOrder } from '../../../command/orders/answer.js';
import type { EngineView } from '../../../engine/run/view.js';
import type { Database } from '../../../query/database.js';
import { findOrder } from '../../../query/orders/order.js';

/** Finds any order that was ever accepted, for the command side. */
export function createOrderFinder(view: Pick<EngineView, 'order' | 'market' | 'position'>, db: Pick<Database, 'rows'>): FindOrder {
  return async (orderHash) => {
    const live = view.order(orderHash);
    if (live !== undefined) return live;
    const recorded = await findOrder(db, orderHash);
    const market = recorded === undefined ? undefined : view.market(recorded.marketId);
    if (recorded === undefined || market === undefined) return undefined;
    // The replica may have come to the order during the read. Only then does a missing order mean that the engine has forgotten it.
    const since = view.order(orderHash);
    if (since !== undefined) return since;
    const { orderNumber, marketId, trader, side, status, closedPosition } = recorded;
    const [size, remaining] = [String(recorded.size), String(recorded.remaining)];
    const order = { orderNumber, marketId, trader, side, status, chainId: market.chainId, size, remaining, forgotten: orderNumber < view.position };
    return closedPosition === null ? order : { ...order, asOf: closedPosition };
  };
}
