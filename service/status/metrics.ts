/** Metrics in Prometheus' format: every part of the process registers its figures here. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Endpoint, Reply } from '../api/endpoint.js';
import { REFUSAL_REASONS, type RefusedConnection } from '../http/connections.js';

/** A gauge whose value is read at each scrape. */
export interface Figure {
  readonly name: string;
  readonly help: string;
  /** One value, or one per set of labels. */
  readonly read: () => number | readonly Labelled[] | Promise<number | readonly Labelled[]>;
}

export interface Labelled {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

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
  /** Adds these figures to every later scrape. Names must be unique. */
  show(figures: readonly Figure[]): void;
}

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const RECORDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

/** Metrics on a new registry. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: 'exchange_http_request_seconds', help: 'Time from a request\'s headers to its answer', labelNames: ['route', 'method', 'status'], buckets: SECONDS,
    registers,
  });
  const orders = new Counter({ name: 'exchange_orders_total', help: 'Orders and cancels by result', labelNames: ['result'], registers });
  const batches = new Histogram({ name: 'exchange_commit_batch_records', help: 'Records in one commit of the log', buckets: RECORDS, registers });
  const refused = new Counter({
    name: 'exchange_http_connections_refused_total', help: 'Connections closed at once, by the limit that was reached', labelNames: ['reason'], registers,
  });
  // A series that begins with its first refusal would hide that refusal from `rate`.
  for (const reason of REFUSAL_REASONS) refused.inc({ reason }, 0);
  return {
    answered: ({ id, method }, status, seconds) => { durations.observe({ route: id, method, status }, seconds); },
    order: (result) => { orders.inc({ result }); },
    batch: (records) => { batches.observe(records); },
    connectionRefused: (reason) => { refused.inc({ reason }); },
    scrape: async () => ({ body: await registry.metrics(), contentType: registry.contentType }),
    show: (figures) => { for (const figure of figures) register(registry, figure); },
  };
}

/** All labels that figures may have: prom-client requires them before the first value. */
const LABELS = ['projection', 'chain', 'key', 'backend', 'role', 'database', 'directory', 'source', 'asset', 'reason', 'topic'];

function register(registry: Registry, { name, help, read }: Figure): void {
  new Gauge({
    name, help, registers: [registry], labelNames: LABELS,
    async collect() {
      const values = await read();
      if (typeof values === 'number') {
        this.set(values);
        return;
      }
      this.reset();
      for (const { labels, value } of values) this.set({ ...labels }, value);
    },
  });
}
