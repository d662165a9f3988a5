/** Finds orders where they are known: recent and open orders in the engine's state, all others in the read model. */
import type { FindOrder } from '../../../command/orders/answer.js';
import { LogUnavailable } from '../../../engine/log/log.js';
import { RequestError } from '../../../engine/records/errors.js';
import type { Replica } from '../../../engine/run/replica.js';
import type { EngineView } from '../../../engine/run/view.js';
import type { Database } from '../../../query/database.js';
import { findOrder, orderWithHistory } from '../../../query/order/history.js';
import { orderAsPlaced } from '../../../query/order/placed.js';
import type { OrderHandlers } from '../../api/endpoints.js';

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

/**
 * The handler of `GET /orders/{hash}`. An order that is not in the read models is answered as its own command left it. When later commands
 * have changed it, the answer waits until the read models have them.
 */
export function createOrderLookup({ view, outcomeOf, db }: Pick<Replica, 'outcomeOf'> & {
  readonly view: Pick<Replica['view'], 'order'>; readonly db: Pick<Database, 'rows' | 'waitForPosition'>;
}): OrderHandlers['getOrder'] {
  return async ({ orderHash }, { signal }) => {
    try {
      return await orderWithHistory(db, { orderHash });
    } catch (error) {
      const known = view.order(orderHash);
      if (known === undefined || !(error instanceof RequestError) || error.code !== 'unknown_order') throw error;
      const placed = orderAsPlaced(await outcomeOf(known.orderNumber).catch(unreadable));
      if (placed.status === known.status && placed.remaining === known.remaining) return { body: placed.body, position: placed.position };
      await db.waitForPosition(known.asOf, { signal });
      return orderWithHistory(db, { orderHash });
    }
  };
}

function unreadable(error: unknown): never {
  throw error instanceof LogUnavailable ? new RequestError('unavailable', 'the log') : error;
}
