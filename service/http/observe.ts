/** Reports requests and orders to the metrics and the logger. */
import { randomUUID } from 'node:crypto';
import type { CancelOrderHandler } from '../../command/orders/cancel-order.js';
import type { PlaceOrderHandler } from '../../command/orders/place-order.js';
import { RequestError } from '../../engine/records/errors.js';
import type { OrderHandlers } from '../api/endpoints.js';
import type { Observer } from './shell.js';
import type { Logger } from '../logger.js';
import type { Metrics } from '../metrics.js';

/** The command side's handlers as route handlers that count each result. */
export function observedOrders(
  metrics: Metrics, { placeOrder, cancelOrder }: { placeOrder: PlaceOrderHandler; cancelOrder: CancelOrderHandler },
): Pick<OrderHandlers, 'placeOrder' | 'cancelOrder'> {
  const counted = async <T>(result: string, work: Promise<T>): Promise<T> => {
    try {
      const answer = await work;
      metrics.order(result);
      return answer;
    } catch (error) {
      metrics.order(error instanceof RequestError ? error.code : 'internal');
      throw error;
    }
  };
  return {
    placeOrder: ({ body }, { signal }) => counted('accepted', placeOrder(body, signal)),
    cancelOrder: (asked, { signal }) => counted('cancelled', cancelOrder(asked, signal)),
  };
}

/** Counts every answer. Logs requests at level debug, and unexpected errors under an id that the client receives. */
export function requestObserver(metrics: Metrics, logger: Logger): Observer {
  const debug = logger.isLevelEnabled('debug');
  return {
    answered(endpoint, status, seconds) {
      metrics.answered(endpoint, status, seconds);
      if (debug) logger.debug({ route: endpoint.id, status, seconds }, 'request');
    },
    failed(error, what) {
      const id = `urn:uuid:${randomUUID()}`;
      logger.error({ id, what, error: error instanceof Error ? error.stack : String(error) }, 'unexpected error');
      return id;
    },
  };
}
