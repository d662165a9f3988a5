/** All state tables, by who has them. */
import type { Alert, Metric, StateTable } from '../../engine/state-table.js';
import { queueState, recoveryState } from '../../command/orders/role-state.js';
import { engineState } from '../../engine/role-state.js';
import { feedState } from '../../command/feed/role-state.js';
import { indexerState } from '../../command/indexer/role-state.js';
import { laneState } from '../../command/lane/role-state.js';
import { assetState, passedOverState, pricesState, priceSourceState, quickMarketsState } from '../../command/prices/role-state.js';
import { historyState, projectionState } from '../../projections/role-state.js';
import { readModelsState, streamsState } from '../../query/role-state.js';
import { relayerState } from '../../command/relayer/role-state.js';
import type { RoleName } from '../process/roles.js';
import { intakeState, kafkaState, settlementState } from '../../command/settlement/role-state.js';
import { clockState, connectionsState, counted, databaseState, diskState, given } from './process-state.js';

/** The engine's table is that of every process with a replica. */
export const STATE_TABLES: Readonly<Record<'process' | RoleName, readonly StateTable<never>[]>> = {
  process: [clockState, databaseState, diskState, connectionsState],
  engine: [engineState],
  projections: [projectionState, historyState],
  query: [readModelsState, streamsState],
  api: [queueState, recoveryState],
  feed: [feedState],
  settlement: [settlementState, intakeState, kafkaState],
  lane: [laneState],
  indexer: [indexerState],
  relayer: [relayerState],
  prices: [pricesState, priceSourceState, assetState, passedOverState, quickMarketsState],
};

export interface ListedMetric extends Metric {
  readonly labels: readonly string[];
  /** When it makes a process not ready, in words; undefined: never. */
  readonly notReady: string | undefined;
}

/**
 * Every metric, by who has it: those of the tables, those that are counted, and those that Node.js and Prometheus tell.
 */
export function listedMetrics(): readonly (readonly [owner: string, metrics: readonly ListedMetric[]])[] {
  const others = [...given, ...Object.values(counted)]
    .map((metric: Metric & { readonly labels?: readonly string[] }) => (
      { ...metric, labels: metric.labels ?? [], notReady: undefined }));
  return Object.entries(STATE_TABLES).map(([owner, tables]) => [owner, [
    ...owner === 'process' ? others : [],
    ...tables.flatMap(({ labels = {}, rows }) => rows.map(({ name, help, alerts = [], notReady }) => (
      { name, help, alerts, labels: Object.keys(labels), notReady: notReady?.when }))),
  ]]);
}

export function allAlerts(metrics: readonly Metric[]): readonly {
  readonly alert: Alert<never>;
  readonly metric: string;
}[] {
  return metrics.flatMap(({ name, alerts = [] }) => alerts.map((alert) => ({ alert, metric: name })));
}
