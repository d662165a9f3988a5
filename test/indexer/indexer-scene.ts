/** An indexer on a real engine over a log in memory: tests start, kill and restart it, and break its requests and appends as they like. */
import type { Chain, Rpc } from '../../command/chain/chain.js';
import { createRpc } from '../../command/chain/rpc.js';
import { historyOf } from '../../command/indexer/role.js';
import { runIndexer, type Indexer, type IndexerOptions } from '../../command/indexer/indexer.js';
import { decodeCommand, decodeOutcome } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';
import { createMemoryLog, createMemoryStore, type MemoryStore } from '../../engine/log/memory/memory-log.js';
import type { ChainCursor, EngineView } from '../../engine/run/view.js';
import { startHarness } from '../harness/harness.js';
import { until } from '../support/until.js';

export interface IndexerScene {
  readonly indexer: Indexer;
  readonly view: EngineView;
  readonly cursor: () => ChainCursor | undefined;
  /** What was reported, as `level: text`. */
  readonly reports: readonly string[];
  /** Ends indexer and engine. */
  stop(): Promise<void>;
}

export interface IndexerSceneOptions extends Partial<Omit<IndexerOptions, 'chain' | 'rpc' | 'signal' | 'cursor'>> {
  readonly chain: Chain;
  readonly rpc: Rpc;
  /** What outlives the process. */
  readonly store: MemoryStore;
  /** Stands around each request and each append: what happens before, after and instead. */
  readonly around?: (what: string, work: () => Promise<unknown>, end: () => void) => Promise<unknown>;
}

/** Starts an engine over the store, lets it catch up, and starts an indexer beside it, which has the history as the role gives it. */
export async function startIndexer(options: IndexerSceneOptions): Promise<IndexerScene> {
  const { chain, store, around = (_, work) => work() } = options;
  const { log, replica, reports, ports: { report }, stop } = await startHarness({ roles: {}, log: createMemoryLog(store) });
  const indexing = new AbortController();
  const { signal } = indexing;
  const end = (): void => { indexing.abort(); };
  const { append, ...history } = historyOf(chain.chainId, { log, replica, signal });
  const indexer = runIndexer({
    ...history, now: Date.now, random: () => 0.5, report, pollMs: 5, retryMs: 1, longestRetryMs: 5, ...options,
    rpc: {
      chainId: chain.chainId,
      request: <T>(method: string, params: readonly unknown[]) => around(method, () => options.rpc.request(method, params), end) as Promise<T>,
    },
    append: (records) => around('append', () => append(records), end) as Promise<number>, signal,
  });
  const { view } = replica;
  return {
    indexer, view, reports, cursor: () => view.cursor(chain.chainId),
    async stop() {
      end();
      await indexer.done;
      await stop();
    },
  };
}

/** A chain's nodes at these URLs, with failures that pass quickly. */
export function quickRpc(urls: readonly string[], chainId: number, timeoutMs = 5_000): Rpc {
  return createRpc({ chainId, urls, timeoutMs, restMs: [1], now: () => performance.now(), report: () => undefined });
}

/** Runs an indexer until the history has got to the chain's final block, and ends it. */
export async function catchUp(options: IndexerSceneOptions): Promise<IndexerScene> {
  const scene = await startIndexer(options);
  try {
    await patiently(() => scene.indexer.advanceNow());
  } finally {
    await scene.stop();
  }
  return scene;
}

/** Tries again while the work fails. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === 10_000) throw error;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

/** What the history has taken from the chain, without what it knew already: commands with their facts, in order. */
export async function takenFacts(store: MemoryStore): Promise<Command[]> {
  await recorded(store);
  return store.records.commands.flatMap(({ position, data }) => {
    const command = decodeCommand(data);
    const { events: [event] } = decodeOutcome(store.records.outcomes[position]!.data);
    const isKnown = event?.type === 'CommandRejected' && event.code === 'known_fact';
    return isKnown || !('fact' in command) ? [] : [command];
  });
}

/** The blocks that the history was told to have been read, without repeats. */
export async function advances(store: MemoryStore): Promise<number[]> {
  await recorded(store);
  return store.records.outcomes.flatMap(({ data }) => (
    decodeOutcome(data).events.flatMap((event) => event.type === 'ChainAdvanced' ? [event.block] : [])));
}

/** Shares by holder, market and outcome, from all transfers in the history; zeros are left out. */
export async function sharesTaken(store: MemoryStore): Promise<Record<string, bigint>> {
  await recorded(store);
  const shares: Record<string, bigint> = {};
  for (const { data } of store.records.outcomes) {
    for (const event of decodeOutcome(data).events) {
      if (event.type !== 'SharesTransferred') continue;
      for (const [holder, amount] of [[event.from, -BigInt(event.amount)], [event.to, BigInt(event.amount)]] as const) {
        const key = `${holder} ${event.marketId} ${event.outcome}`;
        shares[key] = (shares[key] ?? 0n) + amount;
      }
    }
  }
  return Object.fromEntries(Object.entries(shares).filter(([key, amount]) => amount !== 0n && !key.startsWith(`0x${'0'.repeat(40)}`)));
}

/** Outcomes are written a moment after they are decided. */
async function recorded({ records: { commands, outcomes } }: MemoryStore): Promise<void> {
  await until('the outcomes are written', () => outcomes.length === commands.length);
}

export function newStore(): MemoryStore {
  return createMemoryStore();
}
