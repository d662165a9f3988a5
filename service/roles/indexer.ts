/** The indexer role: records what the exchange's contracts did in the final blocks of each chain. Without a chain, opens the catalogue's markets. */
import { runIndexer, type Indexer } from '../../command/indexer/indexer.js';
import type { Log } from '../../engine/log/log.js';
import type { Replica } from '../../engine/run/replica.js';
import { decodeOutcome } from '../../engine/records/codec.js';
import { pause } from '../../engine/waiting.js';
import { CannotStart } from '../cannot-start.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { createAwayAlarm } from '../chains/chain-alarms.js';
import { createIndexerHealth } from '../chains/indexer-health.js';
import type { Figure } from '../status/metrics.js';
import { neverFails } from '../process/failure.js';
import type { IndexerHealth, ReadinessParts } from '../status/readiness.js';
import type { Clock, Role } from './role.js';

export interface IndexerPorts {
  readonly log: Log;
  readonly replica: Replica;
  readonly replicaHealth: () => ReadinessParts;
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  /** Calls the listener with each chain that a process wants to have looked at now. */
  readonly onAskedToAdvance: (listener: (chainId: number) => void) => void;
  /** Opens the markets of the catalogue; called where there is no chain on which they are created. */
  readonly openCatalogue: (replica: Replica) => Promise<void>;
  readonly clock: Pick<Clock, 'now'>;
}

export const indexer: Role<IndexerPorts> = {
  async start(ports) {
    const { chains: accesses, replica } = ports;
    if (accesses.size === 0) await ports.openCatalogue(replica);
    const running = await Promise.all([...accesses.values()].map((access) => startIndexer(access, ports)));
    ports.onAskedToAdvance((chainId) => { running.find((each) => each.chainId === chainId)?.advance(); });
    const chains = () => running.map(({ health }) => health());
    return {
      routes: [], figures: indexerFigures(chains), failed: neverFails,
      health() {
        const now = chains();
        // A chain that is unreachable or late is not a reason: orders can be taken, and their fills wait.
        const reasons = now.flatMap(({ chainId, stopped }) => stopped === null ? [] : `chain ${chainId} is not followed any more: ${stopped}`);
        const contradicted = now.flatMap(({ resolutionTrouble }) => resolutionTrouble ?? []);
        const { engine, reasons: replicaReasons } = ports.replicaHealth();
        return { reasons: [...replicaReasons, ...reasons, ...contradicted], chains: now, ...engine === undefined ? {} : { engine } };
      },
      async stop() { await Promise.all(running.map((each) => each.stop())); },
    };
  },
};

interface RunningIndexer {
  readonly chainId: number;
  health(): IndexerHealth;
  /** Looks at the chain now, and records up to its final block. */
  advance(): void;
  stop(): Promise<void>;
}

/** An alarm is raised when the chain was unreachable for this time, unless `stalledAfterMs` sets another time. */
const AWAY_AFTER_MS = 120_000;
const WATCH_MS = 5_000;
/** Time between two reads of an outcome that another process records. */
const OUTCOME_POLL_MS = 50;

/** Resolves when the chain's final blocks are recorded, or at once when the chain cannot be reached. */
async function startIndexer(access: ChainAccess, { log, replica, clock }: IndexerPorts): Promise<RunningIndexer> {
  const { chain, configured: { pollMs, stalledAfterMs }, rpc, report } = access;
  const { chainId } = chain;
  const { view, outcomeOf } = replica;
  const now = () => clock.now();
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, access.signal]);
  let started: Indexer | undefined;
  await access.begin(async () => {
    const running = started ??= runIndexer({
      chain, rpc, report, signal, pollMs, stalledAfterMs, outcomeOf, now, random: () => Math.random(),
      cursor: () => view.cursor(chainId), view, caughtUp: () => caughtUp(log, replica),
      isKnownToken: (token) => view.isKnownToken(token), isKnownMarket: (marketId) => view.market(marketId) !== undefined,
      append: (records) => log.append('commands', records), digestAt: (position) => digestAt(position, { log, replica, signal }),
    });
    await running.advanceNow().catch((error: unknown) => {
      const { stopped } = running.status();
      throw stopped === undefined ? error : new CannotStart(stopped, { hopeless: true, cause: error });
    });
  });
  const health = createIndexerHealth({ chain, now, indexer: () => started?.status(), beginning: () => access.beginning() });
  watch(access, health, stopping.signal);
  return {
    chainId, health,
    advance() { started?.advanceNow().catch(() => undefined); },
    async stop() {
      stopping.abort();
      await started?.done;
    },
  };
}

/** Resolves when the replica has decided every command that is in the log now. */
async function caughtUp(log: Log, { view, outcomeOf }: Replica): Promise<void> {
  const length = await log.length('commands');
  if (view.position < length) await outcomeOf(length - 1);
}

/** The recorded digest at a log position; undefined if the log has no command there. */
async function digestAt(
  position: number, { log, replica, signal }: { log: Log; replica: Replica; signal: AbortSignal },
): Promise<string | undefined> {
  // A command in the log will have an outcome, but it may not be recorded yet.
  if (position >= replica.view.position && position >= await log.length('commands')) return undefined;
  for (;;) {
    const [record] = await log.read('outcomes', position, 1);
    if (record !== undefined) return decodeOutcome(record.data).digest;
    signal.throwIfAborted();
    await pause(OUTCOME_POLL_MS, signal);
  }
}

/** Raises an alarm when the chain is unreachable for too long. */
function watch({ chain: { chainId }, configured: { stalledAfterMs }, report }: ChainAccess, health: () => IndexerHealth, signal: AbortSignal): void {
  const stallsAreTold = Number.isFinite(stalledAfterMs);
  const awayAfterMs = stallsAreTold ? stalledAfterMs : AWAY_AFTER_MS;
  const look = createAwayAlarm({ chainId, awayAfterMs, stallsAreTold, report });
  const timer = setInterval(() => { look(health()); }, Math.min(WATCH_MS, Math.max(100, awayAfterMs / 4))).unref();
  signal.addEventListener('abort', () => { clearInterval(timer); }, { once: true });
}

/** The metrics of the indexers. */
export function indexerFigures(chains: () => readonly IndexerHealth[]): readonly Figure[] {
  const figure = (name: string, help: string, value: (chain: IndexerHealth) => number): Figure => (
    { name, help, read: () => chains().map((chain) => ({ labels: { chain: chain.chainId }, value: value(chain) })) });
  return [
    figure('exchange_chain_lag_blocks', 'Number of final blocks that the history does not have yet', ({ lagBlocks }) => lagBlocks),
    figure('exchange_chain_reachable', '1 when the last request to the chain succeeded', ({ reachable }) => reachable ? 1 : 0),
    figure('exchange_chain_failed_looks', 'Number of requests to the chain that failed in a row', ({ failures }) => failures),
    figure('exchange_chain_since_look_seconds', 'Time since a request to the chain succeeded, or since the start', ({ sinceLookS }) => sinceLookS),
    figure('exchange_chain_stalled', '1 when the chain has had no new block for too long', ({ stalled }) => stalled ? 1 : 0),
    figure('exchange_chain_stopped', '1 when the chain contradicts history or settings and is not followed any more', ({ stopped }) => stopped === null ? 0 : 1),
    figure('exchange_chain_resolutions_contradicted', 'Number of quick markets that the chain has resolved otherwise than the exchange decided', ({ contradictedMarkets }) => contradictedMarkets),
    figure('exchange_chain_anchors_passed_over', 'Number of transactions whose anchors the chain\'s settings pass over', ({ anchorsPassedOver }) => anchorsPassedOver),
  ];
}
