/** What a chain's relayer and its keeper say of themselves. */
import * as field from '../../engine/records/answer-fields.js';
import { Type, type Static } from '../../engine/records/schema-types.js';
import type { StateTable } from '../../engine/state-table.js';

const schema = field.answer('RelayerReadiness', {
  chainId: field.ChainId, address: field.Address,
  standby: Type.Boolean({ description: 'Another process relays on this chain.' }),
  openRelays: field.integer('Number of relayed requests that have not ended.'),
  problem: field.orNull(Type.String(), 'Why the relayer cannot send; null when it can.'),
  keeper: field.answer('KeeperReadiness', {
    standby: Type.Boolean({ description: 'Another process is the keeper of this chain.' }),
    dueProposals: field.integer('Number of proposed resolutions that are disputed, '
      + 'or past their dispute window and the time for others to settle them.'),
    overdueProposals: field.integer('Number of those that have waited for more than seven days since their dispute window.'),
    problem: field.orNull(Type.String(), 'Why the keeper cannot look or send; null when it can.'),
  }),
});

export type RelayerState = Static<typeof schema>;

export const relayerState: StateTable<RelayerState> = {
  labels: { chain: ({ chainId }) => chainId },
  shows: { part: 'relays', schema, description: 'State of the relayer role.' },
  rows: [
    {
      name: 'exchange_relayer_open_requests', help: 'Number of relayed requests that have not ended',
      value: ({ openRelays }) => openRelays,
    },
    {
      name: 'exchange_relayer_holds', help: '1 while this process relays', value: ({ standby }) => standby ? 0 : 1,
      alerts: [{
        name: 'ExchangeNoRelayer', severity: 'critical', when: { promql: 'max by (chain) (exchange_relayer_holds) == 0' },
        forS: 60, means: 'Nothing relays on chain {chain}.', todo: 'Start a relayer process.',
      }],
    },
    {
      name: 'exchange_relayer_blocked', help: '1 when the relayer cannot send',
      value: ({ problem }) => problem === null ? 0 : 1, cause: ({ problem }) => problem,
      alerts: [{
        name: 'ExchangeRelayerBlocked', severity: 'critical', when: { is: 1 }, forS: 60,
        means: 'The relayer of chain {chain} cannot send.',
        todo: 'relays[].problem of its /health/ready says why: '
          + 'mostly the funds of its key, or gas that is dearer than the limit.',
      }],
    },
    {
      name: 'exchange_keeper_holds', help: '1 while this process is the keeper', value: ({ keeper }) => keeper.standby ? 0 : 1,
    },
    {
      name: 'exchange_keeper_due_proposals', help: 'Number of proposals that the keeper may settle',
      value: ({ keeper }) => keeper.dueProposals,
    },
    {
      name: 'exchange_keeper_overdue_proposals',
      help: 'Number of proposals not settled seven days after their dispute window',
      value: ({ keeper }) => keeper.overdueProposals,
      alerts: [{
        name: 'ExchangeKeeperOverdue', severity: 'warning', when: { above: 0 }, forS: 0, selfLogged: () => true,
        means: '{value} proposals on chain {chain} have waited for seven days.',
        todo: 'The alert in the log says why; the administrator of the resolver can abandon them: '
          + 'docs/relayer.md, "The keeper".',
      }],
    },
    {
      name: 'exchange_keeper_blocked', help: '1 when the keeper cannot look or send',
      value: ({ keeper }) => keeper.problem === null ? 0 : 1, cause: ({ keeper }) => keeper.problem,
      alerts: [{
        name: 'ExchangeKeeperBlocked', severity: 'warning', when: { is: 1 }, forS: 300,
        means: 'The keeper of chain {chain} cannot look or send.',
        todo: 'relays[].keeper.problem of its /health/ready says why.',
      }],
    },
  ],
};
