/** Reports requests and connections to the metrics and the logger. */
import { randomUUID } from 'node:crypto';
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
