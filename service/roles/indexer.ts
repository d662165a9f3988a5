/** The indexer role: records what the exchange's contracts did in the final blocks of each chain. Without a chain, opens the catalogue's markets. */
import { runIndexer, type Indexer } from '../../command/indexer/indexer.js';
import type { Replica } from '../../engine/run/replica.js';
import { decodeOutcome } from '../../engine/records/codec.js';
import { reading } from '../../engine/state-table.js';
import { pause } from '../../engine/waiting.js';
import { CannotStart } from '../cannot-start.js';
import { openMissingMarkets, readCatalogue } from '../chains/catalogue.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { neverFails } from '../process/failure.js';
import { createIndexerState, indexerState, type IndexerState } from './indexer-state.js';
import type { Role } from './role.js';
import type { SharedParts } from '../process/shared-parts.js';

export const indexer: Role = {
  async start(parts) {
    const replica = await parts.replica();
    if (parts.chains.size === 0) await openCatalogue(parts, replica);
    const running = await Promise.all([...parts.chains.values()].map((access) => startIndexer(access, replica, parts)));
    parts.advance.listen((chainId) => { running.find((each) => each.chainId === chainId)?.advance(); });
    return {
      routes: [], state: [parts.replicaState, reading(indexerState, () => running.map(({ state }) => state()))], failed: neverFails,
      async stop() { await Promise.all(running.map((each) => each.stop())); },
    };
  },
};

async function openCatalogue({ config, log, keccak256, now }: SharedParts, { view, outcomeOf }: Replica): Promise<void> {
  const catalogue = await readCatalogue(config.catalogue);
  await openMissingMarkets({
    catalogue, chainId: config.chainId, keccak256, outcomeOf, now, isKnown: (marketId) => view.market(marketId) !== undefined,
    append: (record) => log.append('commands', [record]),
  });
}

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
async function startIndexer(access: ChainAccess, replica: Replica, { log, now }: SharedParts): Promise<RunningIndexer> {
  const { chain, configured: { pollMs, stalledAfterMs }, rpc, report } = access;
  const { chainId } = chain;
  const { view, outcomeOf } = replica;
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
  return {
    chainId, state: createIndexerState({ chain, now, indexer: () => started?.status(), beginning: () => access.beginning() }),
    advance() { started?.advanceNow().catch(() => undefined); },
    async stop() {
      stopping.abort();
      await started?.done;
    },
  };
}

/** Resolves when the replica has decided every command that is in the log now. */
async function caughtUp(log: SharedParts['log'], { view, outcomeOf }: Replica): Promise<void> {
  const length = await log.length('commands');
  if (view.position < length) await outcomeOf(length - 1);
}

/** The recorded digest at a log position; undefined if the log has no command there. */
async function digestAt(
  position: number, { log, replica, signal }: { log: SharedParts['log']; replica: Replica; signal: AbortSignal },
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
