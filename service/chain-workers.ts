/** A chain's workers put together: nodes, indexer, sender and settlement worker, and what orders and syncs ask of the chain. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ChainUnavailable, type Chain, type Rpc } from '../command/chain/chain.js';
import { heldBack } from '../command/chain/held-back.js';
import { runIndexer, type Indexer } from '../command/chain/indexer.js';
import { createOutbox } from '../command/chain/outbox.js';
import type { Report } from '../command/chain/report.js';
import { createRpc } from '../command/chain/rpc.js';
import { createSender } from '../command/chain/sender.js';
import { runSettlement, type Settlement } from '../command/chain/settlement-worker.js';
import type { Keccak256 } from '../command/keccak.js';
import { preparePermits, type PermitFields } from '../command/typed-data.js';
import { chainCursor } from '../engine/chain-cursor.js';
import { decodeOutcome, encodeCommand, recordId, type Outcome } from '../engine/codec.js';
import type { SubmitSettlement, SyncPosition } from '../engine/commands.js';
import type { Event } from '../engine/events.js';
import type { Log } from '../engine/log.js';
import type { EngineRun } from '../engine/run.js';
import { unsettledFills } from '../engine/unsettled-fills.js';
import type { Submitted } from '../command/answer.js';
import { createChainClients, type ChainClientParts, type ChainClients } from './chain-clients.js';
import { checkContracts, type Collateral } from './chain-check.js';
import type { ChainState } from './health.js';
import type { Logger } from './logger.js';

/** A chain that the settings name, with the means to use it. */
export interface ConfiguredChain {
  readonly chain: Chain;
  /** May hold secrets. */
  readonly rpcUrls: readonly string[];
  /** The key that settles: 32 bytes in hex. */
  readonly operatorKey: string;
  /** Wei for a unit of gas that no settlement exceeds; absent: the sender's own limit. */
  readonly maxFeePerGas?: bigint;
  /** How often its nodes are asked for what is new. */
  readonly pollMs: number;
  /** After this time without a block the chain counts as stalled; Infinity where blocks come on demand. */
  readonly stalledAfterMs: number;
  /** A chain that may lose its latest blocks by a crash: the last one that it cannot lose, and how the latest becomes that. */
  readonly keeping?: { keptBlock(): number; keep(): Promise<void> };
}

export interface ChainParts extends ConfiguredChain {
  readonly run: EngineRun;
  readonly log: Log;
  readonly outcomeOf: (position: number) => Promise<Outcome>;
  readonly submit: (command: SyncPosition) => Promise<Submitted>;
  /** Calls the listener with each command's events, in order, in the turn in which the engine takes it. */
  readonly onEvents: (listener: (events: readonly Event[]) => void) => void;
  readonly databaseUrl: string;
  readonly keccak256: Keccak256;
  readonly logger: Logger;
}

export interface ChainWorkers extends ChainClients {
  readonly chain: Chain;
  /** Undefined until the stablecoin has been read. */
  readonly permitDigest: () => ((permit: PermitFields) => Uint8Array) | undefined;
  readonly collateral: () => Collateral | undefined;
  readonly status: () => ChainState;
  /** Rejects when the contracts turn out not to be those that the settings say. */
  readonly failed: Promise<never>;
  readonly stop: () => Promise<void>;
}

/** Between two tries to reach a chain that could not be reached at the start. */
const RETRY_MS = 2_000;

/**
 * Checks the contracts and starts the workers; resolves when the chain's final blocks are in the history, or at once, with a
 * warning, when the chain cannot be reached: then all begins when it can. Throws when the contracts are not those that the settings
 * say, and when the chain contradicts the history. The engine must have caught up with its log.
 */
export async function startChainWorkers(parts: ChainParts): Promise<ChainWorkers> {
  const { chain, run } = parts;
  const stopping = new AbortController();
  const report = reportTo(parts.logger);
  const nodes = createRpc({ chainId: chain.chainId, urls: parts.rpcUrls, now: monotonic, report });
  const { keeping } = parts;
  const rpc = keeping === undefined ? nodes : heldBack(nodes, () => keeping.keptBlock());
  const running: Running = {};
  const clients = createChainClients({
    chain, state: run.engine.state, onEvents: parts.onEvents, submit: parts.submit, ...followed(parts, running),
    rpc: createRpc({ chainId: chain.chainId, urls: parts.rpcUrls, now: monotonic, report: () => undefined }),
  });
  const workers: WorkerParts = { rpc, report, signal: stopping.signal };
  let later: Promise<void> = Promise.resolve();
  try {
    await begin(parts, workers, running);
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) {
      stopping.abort();
      await running.indexer?.done;
      throw error;
    }
    report('trouble', `${error.message}; fills wait until it can be reached`);
    later = keepTrying(parts, workers, running);
  }
  return {
    ...clients, chain,
    permitDigest: () => running.permitDigest,
    collateral: () => running.collateral,
    status: () => statusOf(chain.chainId, running),
    failed: later.then(() => new Promise<never>(() => undefined)),
    async stop() {
      stopping.abort();
      await Promise.all([later.catch(() => undefined), running.settlement?.done, running.indexer?.done]);
    },
  };
}

/** What has been started so far. */
interface Running {
  indexer?: Indexer;
  settlement?: Settlement;
  collateral?: Collateral;
  permitDigest?: ReturnType<typeof preparePermits>;
}

/** Takes up where an earlier try left off. Throws ChainUnavailable, and what is wrong with the chain. */
async function begin(parts: ChainParts, workers: WorkerParts, running: Running): Promise<void> {
  const { chain, keccak256 } = parts;
  const { collateral } = await checkContracts({ chain, rpc: workers.rpc });
  running.collateral = collateral;
  running.permitDigest = preparePermits(keccak256, { token: domainOf(collateral, chain.chainId), spender: chain.contracts.settlement });
  const indexer = running.indexer ??= startIndexer(parts, workers);
  await indexer.advanceNow().catch((error: unknown) => {
    const { stopped } = indexer.status();
    throw stopped === undefined ? error : new Error(stopped, { cause: error });
  });
  running.settlement = startSettlement(parts, { ...workers, indexer });
}

async function keepTrying(parts: ChainParts, workers: WorkerParts, running: Running): Promise<void> {
  while (!workers.signal.aborted) {
    await sleep(RETRY_MS, undefined, { signal: workers.signal }).catch(() => undefined);
    try {
      if (!workers.signal.aborted) await begin(parts, workers, running);
      return;
    } catch (error) {
      if (!(error instanceof ChainUnavailable) && !workers.signal.aborted) throw error;
    }
  }
}

/** After so many failed looks in a row the chain counts as away. */
const AWAY_AFTER_FAILURES = 3;

/** How clients get the history to the chain's latest final block, and why they cannot. */
function followed({ chain: { chainId }, keeping }: ChainParts, running: Running): Pick<ChainClientParts, 'catchUp' | 'trouble'> {
  return {
    trouble() {
      const status = running.indexer?.status();
      if (status === undefined) return 'it has not been reached yet';
      return status.stopped ?? (status.failures >= AWAY_AFTER_FAILURES ? status.lastError ?? 'it does not answer' : undefined);
    },
    async catchUp() {
      await keeping?.keep().catch((cause: unknown) => { throw new ChainUnavailable(chainId, 'its state cannot be kept', { cause }); });
      if (running.indexer === undefined) throw new ChainUnavailable(chainId, 'it has not been reached yet');
      await running.indexer.advanceNow();
    },
  };
}

function statusOf(chainId: number, running: Running): ChainState {
  const indexer = running.indexer?.status();
  const settlement = running.settlement?.status();
  return {
    chainId, finalBlock: indexer?.finalBlock ?? null, lagBlocks: indexer?.lagBlocks ?? 0, stopped: indexer?.stopped ?? null,
    waitingFills: settlement?.waiting ?? 0, sentFills: settlement?.inHand ?? 0,
  };
}

interface WorkerParts {
  readonly rpc: Rpc;
  readonly report: Report;
  readonly signal: AbortSignal;
}

function startIndexer({ chain, run, log, outcomeOf, pollMs, stalledAfterMs }: ChainParts, { rpc, report, signal }: WorkerParts): Indexer {
  const { state } = run.engine;
  return runIndexer({
    chain, rpc, report, signal, pollMs, stalledAfterMs, outcomeOf, now: () => Date.now(), random: () => Math.random(),
    cursor: () => chainCursor(state, chain.chainId),
    isKnownToken: (token) => state.tokens.has(token),
    isKnownMarket: (marketId) => state.marketIndex.has(marketId),
    // All of a range side by side or none: group commit might part them.
    append: (records) => log.append('commands', records),
    digestAt: async (position) => {
      // A command that is in the log will have an outcome, though this engine may not have got there yet.
      if (position >= state.position && position >= await log.length('commands')) return undefined;
      await outcomeOf(position);
      for (;;) {
        const [record] = await log.read('outcomes', position, 1);
        if (record !== undefined) return decodeOutcome(record.data).digest;
        await sleep(50, undefined, { signal });
      }
    },
  });
}

function startSettlement(parts: ChainParts, { rpc, report, signal, indexer }: WorkerParts & { indexer: Indexer }): Settlement {
  const { chain, run, log, outcomeOf, databaseUrl, operatorKey, pollMs, maxFeePerGas } = parts;
  const { engine } = run;
  const { chainId } = chain;
  // On a chain that contradicts the history nothing more may be settled.
  const stopping = new AbortController();
  void indexer.done.then(() => { stopping.abort(); });
  const store = createOutbox({ url: databaseUrl });
  return runSettlement({
    chain, log, report, now: () => Date.now(), signal: AbortSignal.any([signal, stopping.signal]),
    catchUp: () => indexer.advanceNow(),
    view: {
      nextFill: () => engine.state.nextFill,
      unsettled: (from) => unsettledFills(engine.state, { chainId, from }),
      nextBlock: () => chainCursor(engine.state, chainId)?.nextBlock ?? 0,
      history: () => ({ position: engine.state.position - 1, digest: engine.digest }),
    },
    submit: async (command: SubmitSettlement) => {
      // Past the orders' queue, like facts: a flood of orders must not hold up what is on its way to the chain.
      const position = await log.append('commands', [{ id: recordId(`settlement:${chainId}:${command.txHash}`), data: encodeCommand(command) }]);
      return outcomeOf(position);
    },
    openSender: (hooks, opening) => createSender({
      chain, rpc, privateKey: operatorKey, store, report, now: monotonic, signal: opening, pollMs,
      ...maxFeePerGas === undefined ? {} : { maxFeePerGas },
      signed: (attempt, transaction) => hooks.signed(attempt, transaction), over: (transaction, ending) => hooks.over(transaction, ending),
    }),
  });
}

function domainOf({ name, version, address }: Collateral, chainId: number) {
  return { name, version, chainId, verifyingContract: address };
}

function reportTo(logger: Logger): Report {
  return (level, text) => {
    switch (level) {
      case 'note': logger.info(text); return;
      case 'trouble': logger.warn(text); return;
      case 'alarm': logger.error(text);
    }
  };
}

function monotonic(): number {
  return Math.round(performance.now());
}
