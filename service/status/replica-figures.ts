/** The metrics of a process's replica. */
import type { Replica } from '../../engine/run/replica.js';
import type { Figure } from './metrics.js';

export function replicaFigures({ view, recording }: Replica, logLength: () => number): readonly Figure[] {
  return [
    { name: 'exchange_engine_position', help: 'Commands that this process has decided', read: () => view.position },
    { name: 'exchange_log_length', help: 'Commands in the log', read: () => Math.max(view.position, logLength()) },
    { name: 'exchange_engine_records', help: '1 while this process records the command outcomes', read: () => recording?.standby === false ? 1 : 0 },
    { name: 'exchange_engine_standby', help: '1 while another engine records the command outcomes', read: () => recording?.standby === true ? 1 : 0 },
  ];
}
