/** What a read model says of itself. */
import * as field from '../engine/records/answer-fields.js';
import { Type, type Static } from '../engine/records/schema-types.js';
import { MAX_READY_LAG, type StateTable } from '../engine/state-table.js';

const schema = field.answer('ProjectionReadiness', {
  name: Type.String(), position: field.integer('Number of command outcomes that the read model includes.'),
  lag: field.integer('Number of command outcomes that the read model does not include yet.'),
});

const historySchema = field.answer('KeptHistory', {
  from: field.integer('What was over before this log position is removed from the read models.'),
  removedRows: field.integer('Number of rows that this process has removed.'),
});

/** Where KEEP_HISTORY_DAYS is set, from the first round on. */
export const historyState: StateTable<Static<typeof historySchema>> = {
  shows: { part: 'history', single: true, schema: historySchema, description: 'How far back the read models go.' },
  rows: [{
    name: 'exchange_history_from_position', help: 'Log position before which the read models have removed what was over', value: ({ from }) => from,
  }, {
    name: 'exchange_history_removed_rows', help: 'Number of rows of old history that the process has removed since its start', value: ({ removedRows }) => removedRows,
  }],
};

export const projectionState: StateTable<Static<typeof schema>> = {
  labels: { projection: ({ name }) => name },
  shows: { part: 'projections', schema, description: 'State of the projections role.' },
  rows: [{
    name: 'exchange_projection_lag_records', help: 'Number of command outcomes that a read model does not include yet',
    value: ({ lag }) => lag,
    notReady: {
      when: `more than ${MAX_READY_LAG}, of any read model`,
      reasons: ({ name, lag }) => lag > MAX_READY_LAG ? [`read model ${name} is ${lag} records behind`] : [],
    },
    alerts: [{
      name: 'ExchangeReadModelBehind', severity: 'critical', when: { above: MAX_READY_LAG }, forS: 60,
      means: 'The read model {projection} is {value} outcomes behind.',
      todo: 'Reads are old. Look at the projections process and its Postgres.',
    }],
  }],
};
