/** Counts how orders and cancels were decided. */
import { RequestError } from '../../engine/records/errors.js';
import type { CancelOrderHandler } from './cancel-order.js';
import type { PlaceOrderHandler } from './place-order.js';

export interface CountedResults {
  /** Counts an order or cancel by its result: `accepted`, `cancelled`, or the error code of the refusal. */
  order(result: string): void;
}

interface OrderHandlers {
  readonly placeOrder: PlaceOrderHandler;
  readonly cancelOrder: CancelOrderHandler;
}

/** The same handlers, which also count each result. */
export function countedOrders(metrics: CountedResults, { placeOrder, cancelOrder }: OrderHandlers): OrderHandlers {
  const counted = async <T>(result: string, work: () => Promise<T>): Promise<T> => {
    try {
      const answer = await work();
      metrics.order(result);
      return answer;
    } catch (error) {
      metrics.order(error instanceof RequestError ? error.code : 'internal');
      throw error;
    }
  };
  return {
    placeOrder: (body, signal) => counted('accepted', () => placeOrder(body, signal)),
    cancelOrder: (request, signal) => counted('cancelled', () => cancelOrder(request, signal)),
  };
}
