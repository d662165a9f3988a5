/** Metrics in Prometheus' format: what each part reports is registered here, on a registry of this process. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Endpoint, Reply } from './api/endpoint.js';
import type { ChainState } from './roles/health.js';

/** Figures that are read when the metrics are asked for. */
export interface MetricSources {
  /** Orders waiting for the log. */
  readonly queuedOrders: () => number;
  readonly engine: () => { readonly position: number; readonly logLength: number; readonly standby: boolean };
  readonly projections: () => Promise<readonly { readonly name: string; readonly lag: number }[]>;
  readonly chains: () => readonly ChainState[];
  /** What recovers signatures: `native` or `wasm`. */
  readonly recoveryBackend: string;
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
  /** Registers the figures of parts that start later than the metrics. */
  observe(sources: MetricSources): void;
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
    observe: (sources) => { registerSources(registry, sources); },
  };
}

function registerSources(registry: Registry, { queuedOrders, engine, projections, chains, recoveryBackend }: MetricSources): void {
  const registers = [registry];
  const gauge = (name: string, help: string, value: () => number) => new Gauge({
    name, help, registers, collect() { this.set(value()); },
  });
  gauge('exchange_queued_orders', 'Orders waiting for the log', queuedOrders);
  gauge('exchange_engine_position', 'Commands that the engine has decided', () => engine().position);
  gauge('exchange_log_length', 'Commands in the log', () => engine().logLength);
  gauge('exchange_engine_standby', '1 while another engine is at work', () => engine().standby ? 1 : 0);
  new Gauge({
    name: 'exchange_projection_lag_records', help: 'Outcomes that a read model has still to fold', labelNames: ['projection'], registers,
    async collect() { for (const { name, lag } of await projections()) this.set({ projection: name }, lag); },
  });
  const ofChain = (name: string, help: string, value: (chain: ChainState) => number) => new Gauge({
    name, help, labelNames: ['chain'], registers, collect() { for (const chain of chains()) this.set({ chain: chain.chainId }, value(chain)); },
  });
  ofChain('exchange_chain_lag_blocks', 'Final blocks of the chain that the history does not have yet', ({ lagBlocks }) => lagBlocks);
  ofChain('exchange_chain_reachable', '1 when the last look at the chain succeeded', ({ reachable }) => reachable ? 1 : 0);
  ofChain('exchange_chain_failed_looks', 'Looks at the chain that failed in a row', ({ failures }) => failures);
  ofChain('exchange_chain_since_look_seconds', 'Time since a look at the chain succeeded, or since the start', ({ sinceLookS }) => sinceLookS);
  ofChain('exchange_chain_stalled', '1 when the chain has had no new block for too long', ({ stalled }) => stalled ? 1 : 0);
  ofChain('exchange_chain_stopped', '1 when the chain contradicts history or settings and is not followed any more', ({ stopped }) => stopped === null ? 0 : 1);
  ofChain('exchange_settlement_waiting_fills', 'Fills that wait to be sent, counted up to 10,000', ({ waitingFills }) => waitingFills);
  ofChain('exchange_settlement_sent_fills', 'Fills in transactions that are not over', ({ sentFills }) => sentFills);
  ofChain('exchange_settlement_oldest_waiting_seconds', 'How long the first of the fills that wait has waited', ({ oldestWaitingS }) => oldestWaitingS ?? 0);
  ofChain('exchange_settlement_troubled', '1 when something keeps settlement from going on', ({ settlementTrouble }) => settlementTrouble === null ? 0 : 1);
  new Gauge({ name: 'exchange_recovery_backend_info', help: 'What recovers signatures', labelNames: ['backend'], registers }).set({ backend: recoveryBackend }, 1);
}
