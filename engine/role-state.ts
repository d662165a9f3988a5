/** What the replica of a process says of itself: how far its engine is, and whether it records. */
import * as field from './records/answer-fields.js';
import { Type, type Static } from './records/schema-types.js';
import type { Replica } from './run/replica.js';
import { MAX_READY_LAG, reading, type Reading, type StateTable } from './state-table.js';

const schema = field.answer('EngineReadiness', {
  position: field.integer('Number of commands that this engine has decided.'),
  logLength: field.integer('Number of commands in the log.'),
  standby: Type.Boolean({ description: 'This engine is on standby: another engine records the command outcomes.' }),
});

interface EngineState extends Static<typeof schema> {
  /** This process records the command outcomes. */
  readonly records: boolean;
}

export const engineState: StateTable<EngineState> = {
  shows: { part: 'engine', single: true, schema }, unknown: 'the engine has not caught up with the history yet',
  rows: [
    {
      name: 'exchange_engine_position', help: 'Commands that this process has decided', value: ({ position }) => position,
      notReady: {
        when: `more than ${MAX_READY_LAG} behind the log, or still reading the history`,
        reasons: ({ position, logLength }) => (
          logLength - position > MAX_READY_LAG ? [`the engine is ${logLength - position} records behind`] : []),
      },
    },
    {
      name: 'exchange_log_length', help: 'Commands in the log', value: ({ logLength }) => logLength,
      alerts: [{
        name: 'ExchangeEngineBehind', severity: 'critical', forS: 60,
        when: { promql: `exchange_log_length - exchange_engine_position > ${MAX_READY_LAG}` },
        means: '{process} is {value} commands behind.',
        todo: 'The process is not ready. It catches up after a start; else its processor or the log is too slow.',
      }],
    },
    {
      name: 'exchange_engine_records', help: '1 while this process records the command outcomes',
      value: ({ records }) => records ? 1 : 0,
      alerts: [{
        name: 'ExchangeNoEngineRecords', severity: 'critical', when: { promql: 'max(exchange_engine_records) == 0' }, forS: 30,
        means: 'No engine records outcomes.',
        todo: 'Orders are answered, reads stand still. Start an engine, or look why none takes over.',
      }],
    },
    {
      name: 'exchange_engine_standby', help: '1 while another engine records the command outcomes',
      value: ({ standby }) => standby ? 1 : 0,
    },
  ],
};

/** The replica may still be starting. */
export function readReplica(replica: () => Replica | undefined, logLength: () => number): Reading {
  return reading(engineState, () => {
    const { view, recording } = replica() ?? {};
    if (view === undefined) return undefined;
    const { position } = view;
    return [{
      position, logLength: Math.max(position, logLength()), standby: recording?.standby ?? false,
      records: recording?.standby === false,
    }];
  });
}
