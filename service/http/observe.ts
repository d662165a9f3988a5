/** Reports requests and orders to the metrics and the logger. */
import { randomUUID } from 'node:crypto';
import type { CancelOrderHandler } from '../../command/orders/cancel-order.js';
import type { PlaceOrderHandler } from '../../command/orders/place-order.js';
import { RequestError } from '../../engine/records/errors.js';
import type { Endpoint } from '../api/endpoint.js';
import type { Logger } from '../logger.js';
import type { Metrics } from '../status/metrics.js';
import type { RefusedConnection } from './connections.js';

/** Is told about each answered request. */
export interface Observer {
  /** Called after the answer is handed to the socket. `seconds`: from the request's headers to its answer, of a stream to its beginning. */
  answered(endpoint: Endpoint, status: number, seconds: number): void;
  /** Logs an unexpected error. Returns the id under which it is logged. */
  failed(error: unknown, what: string): string;
}

interface OrderHandlers {
  readonly placeOrder: PlaceOrderHandler;
  readonly cancelOrder: CancelOrderHandler;
}

/** The same handlers, which also count each result. */
export function observedOrders(metrics: Pick<Metrics, 'order'>, { placeOrder, cancelOrder }: OrderHandlers): OrderHandlers {
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

/** Time between two warnings about refused connections. */
const WARN_EVERY_MS = 60_000;

/** Counts each refused connection, and warns at most once per minute, with the client's address. `now`: a monotonic clock in milliseconds. */
export function connectionObserver(metrics: Metrics, logger: Logger, now: () => number): (connection: RefusedConnection) => void {
  let warnedMs = -Infinity;
  let refusals = 0;
  return (connection) => {
    metrics.connectionRefused(connection.reason);
    refusals += 1;
    if (now() - warnedMs < WARN_EVERY_MS) return;
    logger.warn({ address: connection.address, reason: connection.reason, refusals }, warningOf(connection));
    warnedMs = now();
    refusals = 0;
  };
}

function warningOf({ reason, address, limit, largest }: RefusedConnection): string {
  if (reason === 'address') {
    return `closed a connection of ${address}, which has ${limit} open: raise MAX_CONNECTIONS_PER_ADDRESS if many clients share this address`;
  }
  const most = largest === undefined ? '' : `, ${largest.connections} of them by ${largest.address}`;
  return `closed a connection of ${address}, since ${limit} are open${most}: raise MAX_CONNECTIONS, or lower MAX_CONNECTIONS_PER_ADDRESS`;
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
