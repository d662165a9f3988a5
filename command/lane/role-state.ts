/** What a lane says of itself. */
import * as field from '../../engine/records/answer-fields.js';
import { Type, type Static } from '../../engine/records/schema-types.js';
import type { StateTable } from '../../engine/state-table.js';

const schema = field.answer('LaneReadiness', {
  chainId: field.ChainId, key: Type.String({ description: 'Name of the key in the settings.' }), address: field.Address,
  standby: Type.Boolean({ description: 'Another process sends with this key.' }),
  problem: field.orNull(Type.String(), 'What blocks the lane; null when nothing does.'),
});

/** A lane: the transactions of one key on one chain. */
export type LaneState = Static<typeof schema>;

export const laneState: StateTable<LaneState> = {
  labels: { chain: ({ chainId }) => chainId, key: ({ key }) => key },
  shows: { part: 'lanes', schema, description: 'State of the lane role.' },
  rows: [
    {
      name: 'exchange_lane_holds', help: '1 while this process sends with the key', value: ({ standby }) => standby ? 0 : 1,
      alerts: [{
        name: 'ExchangeNoLane', severity: 'critical', when: { promql: 'max by (chain, key) (exchange_lane_holds) == 0' }, forS: 60,
        means: 'Nothing sends with the key {key} on chain {chain}.', todo: 'Start a lane process.',
      }],
    },
    {
      name: 'exchange_lane_blocked', help: '1 when something blocks the lane', value: ({ problem }) => problem === null ? 0 : 1,
      cause: ({ problem }) => problem,
      alerts: [{
        name: 'ExchangeLaneBlocked', severity: 'critical', when: { is: 1 }, forS: 60,
        means: 'The lane of the key {key} on chain {chain} is blocked.',
        todo: 'lanes[].problem of its /health/ready says by what: '
          + 'mostly the funds of the key, the fees, or a stranger with the same key.',
      }],
    },
  ],
};
