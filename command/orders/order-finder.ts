/** Finds orders where they are known: recent and open orders in the engine's state, all others in the read model. */
import type { EngineView } from '../../engine/run/view.js';
import type { FindOrder, KnownOrder } from './order-ports.js';

/** An order in the read model; sizes in units of 1e-6. */
export interface RecordedOrder extends Pick<KnownOrder, 'orderNumber' | 'marketId' | 'trader' | 'side' | 'status'> {
  readonly size: bigint;
  readonly remaining: bigint;
  /** The log position of the command that closed the order; null for an open order. */
  readonly closedPosition: number | null;
}

/** The order with this hash, open or closed; undefined when the read model does not have it (yet). */
export type FindRecordedOrder = (orderHash: string) => Promise<RecordedOrder | undefined>;

/** Finds any order that was ever accepted. */
export function createOrderFinder(
  view: Pick<EngineView, 'order' | 'market' | 'position'>, findRecorded: FindRecordedOrder,
): FindOrder {
  return async (orderHash) => {
    const live = view.order(orderHash);
    if (live !== undefined) return live;
    const recorded = await findRecorded(orderHash);
    const market = recorded === undefined ? undefined : view.market(recorded.marketId);
    if (recorded === undefined || market === undefined) return undefined;
    // The replica may have come to the order during the read. Only then does a missing order mean that the engine has
    // forgotten it.
    const since = view.order(orderHash);
    if (since !== undefined) return since;
    const { orderNumber, marketId, trader, side, status, closedPosition } = recorded;
    const [size, remaining] = [String(recorded.size), String(recorded.remaining)];
    const order = {
      orderNumber, marketId, trader, side, status, chainId: market.chainId, size, remaining,
      forgotten: orderNumber < view.position,
    };
    return closedPosition === null ? order : { ...order, asOf: closedPosition };
  };
}
