/** What the api role says of itself. */
import type { StateTable } from '../../engine/state-table.js';

/** How many orders may wait for the log; further ones are refused as overloaded. */
export const MAX_QUEUED_ORDERS = 10_000;

interface ApiState {
  readonly queued: number;
  /** The library that recovers signers. */
  readonly backend: string;
}

export const queueState: StateTable<Pick<ApiState, 'queued'>> = {
  rows: [{
    name: 'exchange_queued_orders', help: 'Number of orders that wait for the log', value: ({ queued }) => queued,
    alerts: [{
      name: 'ExchangeOrdersQueue', severity: 'critical', when: { above: 5_000 }, forS: 60,
      means: '{value} orders wait for the log at {instance}.',
      todo: `From ${MAX_QUEUED_ORDERS} on, orders are refused as overloaded.`,
    }],
  }],
};

export const recoveryState: StateTable<Pick<ApiState, 'backend'>> = {
  labels: { backend: ({ backend }) => backend },
  rows: [{ name: 'exchange_recovery_backend_info', help: 'Library that recovers the signers of orders', value: () => 1 }],
};
