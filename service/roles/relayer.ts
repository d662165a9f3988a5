/** The relayer role: sends what users have signed, records how it ended, and settles proposals that nobody settles. Of two processes, one does. */
import { createChainReads } from '../../command/chain/chain-reads.js';
import { runKeeper, type KeeperRules, type KeeperStatus } from '../../command/keeper/keeper.js';
import { LANE_POLICY } from '../../command/lane/lane-options.js';
import type { OpenLaneUser } from '../../command/lane/requests.js';
import { createQuota, type QuotaLimits } from '../../command/relayer/quota.js';
import { createRelayer, type RelayChain } from '../../command/relayer/relayer.js';
import { openRelaySender, type RelaySenderTimings } from '../../command/relayer/sender.js';
import { createUserNonces } from '../../command/relayer/user-nonces.js';
import type { Keccak256 } from '../../command/signing/keccak.js';
import type { SignerRecovery } from '../../command/signing/recover.js';
import type { Log } from '../../engine/log/log.js';
import type { Report } from '../../engine/report.js';
import type { Replica } from '../../engine/run/replica.js';
import { serve } from '../api/endpoint.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { createTroubleAlarm } from '../chains/chain-alarms.js';
import type { ChainWatch } from '../chains/chain-watch.js';
import { relayerEndpoints } from '../endpoints.js';
import { neverFails } from '../process/failure.js';
import type { Conditions } from '../status/conditions.js';
import type { Figure } from '../status/metrics.js';
import type { KeeperHealth, ReadinessParts, RelayerHealth } from '../status/readiness.js';
import { relayHistory } from './handlers/relay-history.js';
import { RELAYER } from './lane.js';
import type { Clock, Role } from './role.js';

const WATCH_MS = 5_000;
/** The keeper looks once while the indexer looks so many times. */
const KEEPER_POLLS = 5;

/** How relayed requests have ended, by the read models. */
export interface EndedRelays {
  /** How a request has ended; undefined when the read models know of no ending. */
  ended: RelayChain['ended'];
  /** Resolves when the read models include the log position. Throws RequestError `relay_unavailable` when that takes too long. */
  caughtUp(position: number): Promise<void>;
}

export interface RelayerPorts {
  readonly log: Log;
  /** Identifies this start of the process in the records that it writes. */
  readonly writerId: string;
  readonly replica: Replica;
  readonly replicaHealth: () => ReadinessParts;
  readonly endedRelays: EndedRelays;
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  readonly watch: (access: ChainAccess) => Promise<ChainWatch>;
  readonly laneUser: OpenLaneUser;
  readonly keccak256: Keccak256;
  readonly recovery: SignerRecovery;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Throws RequestError while no command may be stamped or written. */
  readonly admit: Conditions['admit'];
  readonly quota: QuotaLimits;
  readonly keeperRules: KeeperRules;
  /** What differs from the relayer's own times; absent: nothing. */
  readonly timings?: Partial<RelaySenderTimings>;
}

export const relayer: Role<RelayerPorts> = {
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
    const relays = () => [...running.values()].map(({ health }) => health());
    return {
      routes: serve(relayerEndpoints, {
        // A request is a command, and deadlines are compared with the clock: what stops orders stops requests.
        async relay(request: Parameters<typeof relay>[0]) {
          admit('order');
          return relay(request);
        },
        userNonces: createUserNonces({ view: replica.view, chains }),
      }),
      figures: relayerFigures(relays), failed: neverFails,
      standsBy: () => running.size > 0 && relays().every(({ standby }) => standby),
      // A relayer that stands by or waits is not a reason: it answers repeats, and says what it waits for.
      health: () => ({ ...ports.replicaHealth(), relays: relays() }),
      async stop() { await Promise.all([...running.values()].map(({ stop }) => stop())); },
    };
  },
};

interface RunningChain {
  readonly relayChain: RelayChain;
  health(): RelayerHealth;
  stop(): Promise<void>;
}

/** Undefined for a chain without a relayer's key. */
async function startChain(access: ChainAccess, ports: RelayerPorts): Promise<RunningChain | undefined> {
  const { chain, rpc, clientRpc, report, configured: { relayer: address, pollMs, maxFeePerGas = LANE_POLICY.maxFeePerGas } } = access;
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
  const looks = [['relayer', sender] as const, ['keeper', keeper] as const]
    .map(([who, each]) => createTroubleAlarm(`chain ${chainId}: the ${who}`, { report, sender: each }));
  const timer = setInterval(() => { for (const look of looks) look(); }, WATCH_MS).unref();
  return {
    relayChain: {
      chain, sender, maxFeePerGas, relayer: address, lacks: createLackAlarm(report), reads: createChainReads(chain, clientRpc),
      token: () => access.collateral(),
      isKnownMarket: (marketId) => view.market(marketId)?.chainId === chainId, ended: (requestId) => endedRelays.ended(requestId),
      commitments: (owner) => view.commitments({ trader: owner, chainId }),
      readModelCaughtUp: () => endedRelays.caughtUp(view.position - 1),
    },
    health() {
      const { holds, open, trouble } = sender.status();
      return { chainId, address, standby: !holds, openRelays: open, trouble: trouble ?? null, keeper: keeperHealth(keeper.status()) };
    },
    async stop() {
      stopping.abort();
      clearInterval(timer);
      await Promise.all([sender.done, keeper.done]);
    },
  };
}

/** Raises an alarm for what the relayer lacks, once until it has sent something again. */
function createLackAlarm(report: Report): RelayChain['lacks'] {
  let lack = '';
  return (what = '') => {
    if (what !== '' && lack === '') report('alarm', `${what}: requests are refused until that has changed`);
    if (what === '' && lack !== '') report('note', `the relayer sends again after: ${lack}`);
    lack = what;
  };
}

function keeperHealth({ holds, due, overdue, trouble }: KeeperStatus): KeeperHealth {
  return { standby: !holds, dueProposals: due, overdueProposals: overdue, trouble: trouble ?? null };
}

/** The metrics of the relayers and their keepers. */
function relayerFigures(relays: () => readonly RelayerHealth[]): readonly Figure[] {
  const figure = (name: string, help: string, value: (each: RelayerHealth) => number): Figure => (
    { name, help, read: () => relays().map((each) => ({ labels: { chain: each.chainId }, value: value(each) })) });
  return [
    figure('exchange_relayer_open_requests', 'Number of relayed requests that have not ended', ({ openRelays }) => openRelays),
    figure('exchange_relayer_holds', '1 while this process relays', ({ standby }) => standby ? 0 : 1),
    figure('exchange_relayer_troubled', '1 when the relayer cannot send', ({ trouble }) => trouble === null ? 0 : 1),
    figure('exchange_keeper_holds', '1 while this process is the keeper', ({ keeper }) => keeper.standby ? 0 : 1),
    figure('exchange_keeper_due_proposals', 'Number of proposals that the keeper may settle', ({ keeper }) => keeper.dueProposals),
    figure('exchange_keeper_overdue_proposals', 'Number of proposals not settled seven days after their dispute window', ({ keeper }) => keeper.overdueProposals),
    figure('exchange_keeper_troubled', '1 when the keeper cannot look or send', ({ keeper }) => keeper.trouble === null ? 0 : 1),
  ];
}
