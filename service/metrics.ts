/** Metrics in Prometheus' format: what each part shows is registered here, on a registry of this process. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Endpoint, Reply } from './api/endpoint.js';

/** A figure that is read when the metrics are asked for. */
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
  /** A request was answered. */
  answered(endpoint: Pick<Endpoint, 'id' | 'method'>, status: number, seconds: number): void;
  /** An order or cancel was decided: `accepted`, or the code of its refusal. */
  order(result: string): void;
  /** A batch was committed to the log. */
  batch(records: number): void;
  /** The text to answer a scrape with. */
  scrape(): Promise<Reply>;
  /** Shows these figures from now on. Names are unique. */
  show(figures: readonly Figure[]): void;
}

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const RECORDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

/** A set of metrics on a registry of its own. */
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
  return {
    answered: ({ id, method }, status, seconds) => { durations.observe({ route: id, method, status }, seconds); },
    order: (result) => { orders.inc({ result }); },
    batch: (records) => { batches.observe(records); },
    scrape: async () => ({ body: await registry.metrics(), contentType: registry.contentType }),
    show: (figures) => { for (const figure of figures) register(registry, figure); },
  };
}

/** The labels that figures have; prom-client wants to know them before the first value. */
const LABELS = ['projection', 'chain', 'key', 'backend', 'role'];

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
