/** The relayer role: sends what users have signed, records how it ended, and settles proposals that nobody settles. Of two processes, one does. */
import { createChainReads } from '../../command/chain/chain-reads.js';
import { runKeeper, type KeeperStatus } from '../../command/keeper/keeper.js';
import { WATCH_RULES } from '../../command/keeper/watch.js';
import { LANE_POLICY } from '../../command/lane/lane-options.js';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { openDesk, type EndedRelay } from '../../command/relayer/desk.js';
import { createQuota } from '../../command/relayer/quota.js';
import { createRelayer, type RelayChain } from '../../command/relayer/relayer.js';
import { createUserNonces } from '../../command/relayer/user-nonces.js';
import { createSignerRecovery } from '../../command/signing/recover.js';
import { RequestError } from '../../engine/records/errors.js';
import type { Report } from '../../engine/report.js';
import type { Replica } from '../../engine/run/replica.js';
import { relayOfRequest } from '../../query/claims.js';
import type { Database } from '../../query/database.js';
import { serve } from '../api/endpoint.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { createTroubleAlarm } from '../chains/chain-alarms.js';
import { relayerEndpoints } from '../endpoints.js';
import { neverFails } from '../process/failure.js';
import type { SharedParts } from '../process/shared-parts.js';
import type { Figure } from '../status/metrics.js';
import type { KeeperHealth, RelayerHealth } from '../status/readiness.js';
import { relayHistory } from './handlers/relay-history.js';
import { RELAYER } from './lane.js';
import type { Role } from './role.js';

const WATCH_MS = 5_000;
/** The keeper looks once while the indexer looks so many times. */
const KEEPER_POLLS = 5;

export const relayer: Role = {
  async start(parts) {
    const { chains, keccak256, now, config, conditions } = parts;
    const replica = await parts.replica();
    const db = await parts.readModels();
    const running = new Map<number, RunningChain>();
    for (const [chainId, access] of chains) {
      const started = await startChain(access, { replica, db, parts });
      if (started !== undefined) running.set(chainId, started);
    }
    const quota = createQuota({ gasPerOwner: BigInt(config.relayGasPerOwner), gasPerToken: BigInt(config.relayGasPerToken) }, monotonic);
    const relay = createRelayer({
      keccak256, now, quota, recovery: await createSignerRecovery(keccak256),
      chains: new Map([...running].map(([chainId, { relayChain }]) => [chainId, relayChain])),
    });
    const relays = () => [...running.values()].map(({ health }) => health());
    return {
      routes: serve(relayerEndpoints, {
        // A request is a command, and deadlines are compared with the clock: what stops orders stops requests.
        async relay(request: Parameters<typeof relay>[0]) {
          conditions.admit('order');
          return relay(request);
        },
        userNonces: createUserNonces({ view: replica.view, chains }),
      }),
      figures: relayerFigures(relays), failed: neverFails,
      standsBy: () => running.size > 0 && relays().every(({ standby }) => standby),
      // A relayer that stands by or waits is not a reason: it answers repeats, and says what it waits for.
      health: () => ({ ...parts.replicaHealth(), relays: relays() }),
      async stop() { await Promise.all([...running.values()].map(({ stop }) => stop())); },
    };
  },
};

interface RunningChain {
  readonly relayChain: RelayChain;
  health(): RelayerHealth;
  stop(): Promise<void>;
}

interface Grounds {
  readonly replica: Replica;
  readonly db: Database;
  readonly parts: SharedParts;
}

/** Undefined for a chain without a relayer's key. */
async function startChain(access: ChainAccess, { replica, db, parts }: Grounds): Promise<RunningChain | undefined> {
  const { chain, rpc, clientRpc, report, configured: { relayer: address, pollMs, maxFeePerGas = LANE_POLICY.maxFeePerGas } } = access;
  const { chainId, contracts } = chain;
  const reads = createChainReads(chain, rpc);
  const { view } = replica;
  const stopping = new AbortController();
  await access.begin(() => Promise.resolve());
  if (address === undefined) return undefined;
  const signal = AbortSignal.any([stopping.signal, access.signal]);
  const watch = await parts.watch(access);
  const desk = openDesk({
    chainId, report, now: parts.now, signal,
    lane: openLaneUser({ url: parts.urls.outbox, chainId, key: RELAYER, purpose: 'relay' }),
    history: relayHistory(chainId, { ...parts, replica, watch }),
    endings: { contracts, confirmations: chain.confirmations, reads, relayer: address },
  });
  const keeper = runKeeper({
    chain, reads, report, signal, maxFeePerGas, relayer: address, now: parts.now, verify: () => watch.verify(),
    lane: openLaneUser({ url: parts.urls.outbox, chainId, key: RELAYER, purpose: 'keeper' }),
    view: {
      proposals: () => view.openProposals(chainId), unproposed: () => view.unproposedMarkets(chainId),
      nextBlock: () => view.cursor(chainId)?.nextBlock ?? 0,
    },
    rules: { ...WATCH_RULES, graceS: parts.config.keeperGraceS }, pollMs: KEEPER_POLLS * pollMs,
  });
  const looks = [['relayer', desk] as const, ['keeper', keeper] as const]
    .map(([who, sender]) => createTroubleAlarm(`chain ${chainId}: the ${who}`, { report, sender }));
  const timer = setInterval(() => { for (const look of looks) look(); }, WATCH_MS).unref();
  return {
    relayChain: {
      chain, desk, maxFeePerGas, relayer: address, lacks: createLackAlarm(report), reads: createChainReads(chain, clientRpc),
      token: () => access.collateral(),
      isKnownMarket: (marketId) => view.market(marketId)?.chainId === chainId, ended: (requestId) => endedByReadModel(db, requestId),
      commitments: (owner) => view.commitments({ trader: owner, chainId }),
      readModelCaughtUp: () => caughtUp(db, view.position - 1),
    },
    health() {
      const { holds, open, trouble } = desk.status();
      return { chainId, address, standby: !holds, openRelays: open, trouble: trouble ?? null, keeper: keeperHealth(keeper.status()) };
    },
    async stop() {
      stopping.abort();
      clearInterval(timer);
      await Promise.all([desk.done, keeper.done]);
    },
  };
}

/** The read model may lag: a request that it has as submitted may have ended, and its transaction is the answer all the same. */
async function endedByReadModel(db: Database, requestId: string): Promise<EndedRelay | undefined> {
  const found = await relayOfRequest(db, { requestId });
  if (found?.txHash === undefined || found.status === 'requested') return undefined;
  return { txHash: found.txHash, succeeded: found.status !== 'failed' };
}

async function caughtUp(db: Database, position: number): Promise<void> {
  try {
    await db.waitForPosition(position);
  } catch (error) {
    throw error instanceof RequestError ? new RequestError('relay_unavailable', 'the read models are behind') : error;
  }
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

function monotonic(): number {
  return Math.round(performance.now());
}
