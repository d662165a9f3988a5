/**
 * Metrics in Prometheus' format: what a process counts, and the values of its state tables. What requests and
 * connections do is reported here, to the metrics and the logger.
 */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { randomUUID } from 'node:crypto';
import type { Reading } from '../../engine/state-table.js';
import type { Endpoint, Reply } from '../api/endpoint.js';
import { REFUSAL_REASONS, type RefusedConnection } from '../http/connections.js';
import { counted } from './process-state.js';
import type { Logger } from '../logger.js';

export interface Metrics {
  /** Records that a request was answered. */
  answered(endpoint: Pick<Endpoint, 'id' | 'method'>, status: number, seconds: number): void;
  /** Records how an order or cancel was decided: `accepted`, `cancelled`, or the error code of the refusal. */
  order(result: string): void;
  /** Records that a batch was committed to the log. */
  batch(records: number): void;
  /** Records that a connection was closed at once. */
  connectionRefused(reason: RefusedConnection['reason']): void;
  /** The answer to a scrape. */
  scrape(): Promise<Reply>;
  /** Adds the values of these parts to every later scrape. */
  show(readings: readonly Reading[]): void;
}

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const RECORDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

/** Metrics on a new registry. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({ ...of(counted.requests), buckets: SECONDS, registers });
  const orders = new Counter({ ...of(counted.orders), registers });
  const batches = new Histogram({ ...of(counted.batches), buckets: RECORDS, registers });
  const refused = new Counter({ ...of(counted.refused), registers });
  // A series that begins with its first refusal would hide that refusal from `rate`.
  for (const reason of REFUSAL_REASONS) refused.inc({ reason }, 0);
  return {
    answered: ({ id, method }, status, seconds) => { requests.observe({ route: id, method, status }, seconds); },
    order: (result) => { orders.inc({ result }); },
    batch: (records) => { batches.observe(records); },
    connectionRefused: (reason) => { refused.inc({ reason }); },
    scrape: async () => ({ body: await registry.metrics(), contentType: registry.contentType }),
    show: (readings) => { for (const each of readings) register(registry, each); },
  };
}

function of<Label extends string>({ name, help, labels }: {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly Label[];
}) {
  return { name, help, labelNames: labels };
}

/** A gauge per row of the part's table, read at each scrape. */
function register(registry: Registry, { table: { labels = {}, rows }, samples }: Reading): void {
  const labelNames = Object.keys(labels);
  for (const [place, { name, help }] of rows.entries()) {
    new Gauge({
      name, help, registers: [registry], labelNames,
      async collect() {
        const found = await samples(place);
        this.reset();
        // A gauge without labels is 0 otherwise, also while its value is not known.
        if (found.length === 0 && labelNames.length === 0) this.remove();
        for (const { labels: of, value } of found) this.set(of, value);
      },
    });
  }
}

/** Is told about each answered request. */
export interface Observer {
  /**
   * Called after the answer is handed to the socket. `seconds`: from the request's headers to its answer, of a stream
   * to its beginning.
   */
  answered(endpoint: Endpoint, status: number, seconds: number): void;
  /** Logs an unexpected error. Returns the id under which it is logged. */
  failed(error: unknown, what: string): string;
}

/** Time between two warnings about refused connections. */
const WARN_EVERY_MS = 60_000;

/**
 * Counts each refused connection, and warns at most once per minute, with the client's address. `now`: a monotonic
 * clock in milliseconds.
 */
export function connectionObserver(
  metrics: Metrics, logger: Logger, now: () => number,
): (connection: RefusedConnection) => void {
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
