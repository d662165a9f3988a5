/**
 * The indexer role: records what the exchange's contracts did in the final blocks of each chain. Without a chain, opens
 * the catalogue's markets.
 */
import { CannotStart } from '../../engine/cannot-start.js';
import type { Log } from '../../engine/log/log.js';
import { decodeOutcome } from '../../engine/records/codec.js';
import type { Replica } from '../../engine/run/replica.js';
import { neverFails, type Clock, type Role } from '../../engine/running-role.js';
import { reading, type Reading } from '../../engine/state-table.js';
import { pause } from '../../engine/waiting.js';
import type { ChainAccess } from '../chain/chain-access.js';
import type { Keccak256 } from '../signing/typed-data.js';
import { openMissingMarkets, type CatalogueMarket } from './catalogue.js';
import { runIndexer, type Indexer, type IndexerOptions } from './indexer.js';
import { createIndexerState, indexerState, type IndexerState } from './role-state.js';

export interface IndexerPorts {
  readonly log: Log;
  readonly replica: Replica;
  readonly replicaState: Reading;
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  /** Calls the listener with each chain that a process wants to have looked at now. */
  readonly onAskedToAdvance: (listener: (chainId: number) => void) => void;
  /** The markets to open where there is no chain on which they are created, and the chain id that they get. */
  readonly catalogue: { readonly read: () => Promise<readonly CatalogueMarket[]>; readonly chainId: number };
  readonly keccak256: Keccak256;
  readonly clock: Pick<Clock, 'now'>;
  /** What differs from the indexer's own sizes and times; absent: nothing. */
  readonly timings?: Pick<IndexerOptions, 'rangeBlocks' | 'advanceEvery' | 'advanceEveryMs' | 'retryMs' | 'longestRetryMs'>;
}

export const indexer: Role<IndexerPorts> = {
  async start(ports) {
    const { chains: accesses } = ports;
    if (accesses.size === 0) await openCatalogue(ports);
    const running = await Promise.all([...accesses.values()].map((access) => startIndexer(access, ports)));
    ports.onAskedToAdvance((chainId) => { running.find((each) => each.chainId === chainId)?.advance(); });
    return {
      state: [ports.replicaState, reading(indexerState, () => running.map(({ state }) => state()))], failed: neverFails(),
      async stop() { await Promise.all(running.map((each) => each.stop())); },
    };
  },
};

interface RunningIndexer {
  readonly chainId: number;
  state(): IndexerState;
  /** Looks at the chain now, and records up to its final block. */
  advance(): void;
  stop(): Promise<void>;
}

/** Time between two reads of an outcome that another process records. */
const OUTCOME_POLL_MS = 50;

/** Resolves when the chain's final blocks are recorded, or at once when the chain cannot be reached. */
async function startIndexer(
  access: ChainAccess, { log, replica, clock, timings }: IndexerPorts,
): Promise<RunningIndexer> {
  const { chain, configured: { pollMs, stalledAfterMs }, rpc, report } = access;
  const { chainId } = chain;
  const now = () => clock.now();
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, access.signal]);
  let started: Indexer | undefined;
  await access.begin(async () => {
    const running = started ??= runIndexer({
      ...historyOf(chainId, { log, replica, signal }),
      chain, rpc, report, signal, pollMs, stalledAfterMs, now, random: () => Math.random(), ...timings,
    });
    await running.advanceNow().catch((error: unknown) => {
      const { stopped } = running.status();
      throw stopped === undefined ? error : new CannotStart(stopped, { hopeless: true, cause: error });
    });
  });
  return {
    chainId, state: createIndexerState({
      chain, now, indexer: () => started?.status(), startAttempts: () => access.startAttempts(),
    }),
    advance() { started?.advanceNow().catch(() => undefined); },
    async stop() {
      stopping.abort();
      await started?.done;
    },
  };
}

/** Opens the markets of the catalogue that the history does not have. */
async function openCatalogue({
  catalogue, keccak256, log, replica: { view, outcomeOf }, clock,
}: IndexerPorts): Promise<void> {
  await openMissingMarkets({
    catalogue: await catalogue.read(), chainId: catalogue.chainId, keccak256, outcomeOf, now: () => clock.now(),
    isKnown: (marketId) => view.market(marketId) !== undefined, append: (record) => log.append('commands', [record]),
  });
}

/** What the indexer of a chain reads and writes of the history. */
export function historyOf(
  chainId: number,
  { log, replica, signal }: { readonly log: Log; readonly replica: Replica; readonly signal: AbortSignal },
): Pick<IndexerOptions, 'cursor' | 'view' | 'caughtUp' | 'isKnownToken' | 'isKnownMarket' | 'append' | 'outcomeOf' | 'digestAt'> {
  const { view, outcomeOf } = replica;
  return {
    view, outcomeOf, cursor: () => view.cursor(chainId), caughtUp: () => caughtUp(log, replica),
    isKnownToken: (token) => view.isKnownToken(token), isKnownMarket: (marketId) => view.market(marketId) !== undefined,
    append: (records) => log.append('commands', records), digestAt: (position) => digestAt(position, { log, replica, signal }),
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
