/**
 * The relayer role: sends what users have signed, records how it ended, and settles proposals that nobody settles. Of
 * two processes, one does.
 */
import type { Log } from '../../engine/log/log.js';
import type { Report } from '../../engine/report.js';
import type { Replica } from '../../engine/run/replica.js';
import { neverFails, type Admit, type Clock, type Role } from '../../engine/running-role.js';
import { reading, type Reading } from '../../engine/state-table.js';
import { serve, type ServingRole } from '../../service/api/endpoint.js';
import type { ChainAccess } from '../chain/chain-access.js';
import { createChainReads } from '../chain/chain-reads.js';
import type { ChainWatch } from '../chain/chain-watch.js';
import { runKeeper, type KeeperRules, type KeeperStatus } from '../keeper/keeper.js';
import { RELAYER } from '../lane/keys.js';
import { LANE_POLICY } from '../lane/lane-options.js';
import type { OpenLaneUser } from '../lane/requests.js';
import type { Keccak256 } from '../signing/typed-data.js';
import type { SignerRecovery } from '../signing/recover.js';
import { relayerEndpoints } from './endpoints.js';
import { createQuota, type QuotaLimits } from './quota.js';
import { relayHistory } from './relay-history.js';
import { createRelayer, type RelayChain } from './relayer.js';
import { relayerState, type RelayerState } from './role-state.js';
import { openRelaySender, type RelaySenderTimings } from './sender.js';
import { createUserNonces } from './user-nonces.js';

/** The keeper looks once while the indexer looks so many times. */
const KEEPER_POLLS = 5;

/** How relayed requests have ended, by the read models. */
export interface EndedRelays {
  /** How a request has ended; undefined when the read models know of no ending. */
  ended: RelayChain['ended'];
  /**
   * Resolves when the read models include the log position. Throws RequestError `relay_unavailable` when that takes too
   * long.
   */
  caughtUp(position: number): Promise<void>;
}

export interface RelayerPorts {
  readonly log: Log;
  /** Identifies this start of the process in the records that it writes. */
  readonly writerId: string;
  readonly replica: Replica;
  readonly replicaState: Reading;
  readonly endedRelays: EndedRelays;
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  readonly watch: (access: ChainAccess) => Promise<ChainWatch>;
  readonly laneUser: OpenLaneUser;
  readonly keccak256: Keccak256;
  readonly recovery: SignerRecovery;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Throws RequestError while no command may be stamped or written. */
  readonly admit: Admit;
  readonly quota: QuotaLimits;
  readonly keeperRules: KeeperRules;
  /** What differs from the relayer's own times; absent: nothing. */
  readonly timings?: Partial<RelaySenderTimings>;
}

export const relayer: Role<RelayerPorts, ServingRole> = {
  async start(ports) {
    const { chains, keccak256, recovery, clock, replica, admit } = ports;
    const running = new Map<number, RunningChain>();
    for (const [chainId, access] of chains) {
      const started = await startChain(access, ports);
      if (started !== undefined) running.set(chainId, started);
    }
    const relay = createRelayer({
      keccak256, recovery, now: () => clock.now(), quota: createQuota(ports.quota, () => Math.round(clock.monotonic())),
      chains: new Map([...running].map(([chainId, { relayChain }]) => [chainId, relayChain])),
    });
    const relays = () => [...running.values()].map(({ state }) => state());
    return {
      routes: serve(relayerEndpoints, {
        // A request is a command, and deadlines are compared with the clock: what stops orders stops requests.
        async relay(request: Parameters<typeof relay>[0]) {
          admit('order');
          return relay(request);
        },
        userNonces: createUserNonces({ view: replica.view, chains }),
      }),
      // A relayer that stands by or waits is not a reason: it answers repeats, and says what it waits for.
      state: [ports.replicaState, reading(relayerState, relays)], failed: neverFails(),
      standsBy: () => running.size > 0 && relays().every(({ standby }) => standby),
      async stop() { await Promise.all([...running.values()].map(({ stop }) => stop())); },
    };
  },
};

interface RunningChain {
  readonly relayChain: RelayChain;
  state(): RelayerState;
  stop(): Promise<void>;
}

/** Undefined for a chain without a relayer's key. */
async function startChain(access: ChainAccess, ports: RelayerPorts): Promise<RunningChain | undefined> {
  const {
    chain, rpc, clientRpc, report, configured: { relayer: address, pollMs, maxFeePerGas = LANE_POLICY.maxFeePerGas },
  } = access;
  const { chainId, contracts } = chain;
  const reads = createChainReads(chain, rpc);
  const { replica: { view }, endedRelays, clock, laneUser } = ports;
  const now = () => clock.now();
  const stopping = new AbortController();
  await access.begin(() => Promise.resolve());
  if (address === undefined) return undefined;
  const signal = AbortSignal.any([stopping.signal, access.signal]);
  const watch = await ports.watch(access);
  const sender = openRelaySender({
    chainId, report, now, signal,
    lane: laneUser({ chainId, key: RELAYER, purpose: 'relay' }),
    history: relayHistory(chainId, { ...ports, watch }),
    endings: { contracts, confirmations: chain.confirmations, reads, relayer: address },
    timings: ports.timings ?? {},
  });
  const keeper = runKeeper({
    chain, reads, report, signal, maxFeePerGas, relayer: address, now, verify: () => watch.verify(),
    lane: laneUser({ chainId, key: RELAYER, purpose: 'keeper' }),
    view: {
      proposals: () => view.openProposals(chainId), unproposed: () => view.unproposedMarkets(chainId),
      nextBlock: () => view.cursor(chainId)?.nextBlock ?? 0,
    },
    rules: ports.keeperRules, pollMs: KEEPER_POLLS * pollMs,
  });
  return {
    relayChain: {
      chain, sender, maxFeePerGas, relayer: address, lacks: createLackAlert(report),
      reads: createChainReads(chain, clientRpc),
      token: () => access.collateral(),
      isKnownMarket: (marketId) => view.market(marketId)?.chainId === chainId,
      ended: (requestId) => endedRelays.ended(requestId),
      commitments: (owner) => view.commitments({ trader: owner, chainId }),
      readModelCaughtUp: () => endedRelays.caughtUp(view.position - 1),
    },
    state() {
      const { holds, open, problem } = sender.status();
      return {
        chainId, address, standby: !holds, openRelays: open, problem: problem ?? null,
        keeper: keeperState(keeper.status()),
      };
    },
    async stop() {
      stopping.abort();
      await Promise.all([sender.done, keeper.done]);
    },
  };
}

/** Raises an alert for what the relayer lacks, once until it has sent something again. */
function createLackAlert(report: Report): RelayChain['lacks'] {
  let lack = '';
  return (what = '') => {
    if (what !== '' && lack === '') report('alert', `${what}: requests are refused until that has changed`);
    if (what === '' && lack !== '') report('info', `the relayer sends again after: ${lack}`);
    lack = what;
  };
}

function keeperState({ holds, due, overdue, problem }: KeeperStatus): RelayerState['keeper'] {
  return { standby: !holds, dueProposals: due, overdueProposals: overdue, problem: problem ?? null };
}
