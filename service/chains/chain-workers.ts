/** A chain's workers put together: nodes, indexer, lane and settlement worker, and what orders and syncs ask of the chain. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ChainUnavailable, type Chain, type Rpc } from '../../command/chain/chain.js';
import { heldBack } from '../../command/chain/held-back.js';
import { runIndexer, type Indexer } from '../../command/indexer/indexer.js';
import { createLane } from '../../command/lane/lane.js';
import type { Lane } from '../../command/lane/lane-options.js';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createOutbox } from '../../command/lane/outbox.js';
import type { Report } from '../../command/chain/report.js';
import { createRpc } from '../../command/chain/rpc.js';
import { runSettlement, type Settlement } from '../../command/settlement/settlement-worker.js';
import { submissionOf } from '../../command/settlement/submission.js';
import type { Keccak256 } from '../../command/signing/keccak.js';
import { preparePermits, type PermitFields } from '../../command/signing/typed-data.js';
import { chainCursor } from '../../engine/rules/chain-cursor.js';
import { decodeOutcome, encodeCommand, recordId, type Outcome } from '../../engine/records/codec.js';
import type { SyncPosition } from '../../engine/records/commands.js';
import type { Event } from '../../engine/records/events.js';
import type { Log } from '../../engine/log/log.js';
import type { EngineRun } from '../../engine/run/run.js';
import { unsettledFills } from '../../engine/run/unsettled-fills.js';
import type { Submitted } from '../../command/orders/answer.js';
import { createChainClients, type ChainClientParts, type ChainClients } from './chain-clients.js';
import { createChainAlarms } from './chain-alarms.js';
import { checkContracts, type Collateral } from './chain-check.js';
import { createChainStatus, type Beginning } from './chain-status.js';
import type { ChainState } from '../roles/health.js';
import type { Logger } from '../logger.js';

/** A chain that the settings name, with the means to use it. */
export interface ConfiguredChain {
  readonly chain: Chain;
  /** May hold secrets. */
  readonly rpcUrls: readonly string[];
  /** The key that settles: 32 bytes in hex. */
  readonly operatorKey: string;
  /** Wei for a unit of gas that no settlement exceeds; absent: the lane's own limit. */
  readonly maxFeePerGas?: bigint;
  /** How often its nodes are asked for what is new. */
  readonly pollMs: number;
  /** After this time without a block the chain counts as stalled; Infinity where blocks come on demand. */
  readonly stalledAfterMs: number;
  /** For one request to one of its nodes. Default 10 s. */
  readonly requestTimeoutMs?: number;
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
  readonly stop: () => Promise<void>;
}

/** Between two tries to reach a chain that could not be reached at the start. */
const RETRY_MS = 2_000;
/** After this time without the chain somebody is called, where there is no other time to go by. */
const AWAY_AFTER_MS = 120_000;
const WATCH_MS = 5_000;

/**
 * Checks the contracts and starts the workers; resolves when the chain's final blocks are in the history, or at once, with a
 * warning, when the chain cannot be reached: then all begins when it can. Throws when the contracts are not those that the settings
 * say, and when the chain contradicts the history; a chain that turns out so later is given up, with an alarm, and the exchange goes on
 * without it. The engine must have caught up with its log.
 */
export async function startChainWorkers(parts: ChainParts): Promise<ChainWorkers> {
  const { chain, run } = parts;
  const stopping = new AbortController();
  const report = reportTo(parts.logger);
  const open = (told: Report) => createRpc({
    chainId: chain.chainId, urls: parts.rpcUrls, now: monotonic, report: told, signal: stopping.signal,
    ...parts.requestTimeoutMs === undefined ? {} : { timeoutMs: parts.requestTimeoutMs },
  });
  const nodes = open(report);
  const { keeping } = parts;
  const rpc = keeping === undefined ? nodes : heldBack(nodes, () => keeping.keptBlock());
  const running: Running = { beginning: { failures: 0 } };
  const clients = createChainClients({
    chain, state: run.engine.state, onEvents: parts.onEvents, submit: parts.submit, ...followed(parts, running),
    rpc: open(() => undefined),
  });
  const workers: WorkerParts = { rpc, report, signal: stopping.signal };
  const status = statusOf(parts, running);
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
    running.beginning = { failures: 1, lastError: error.message };
    later = keepTrying(parts, { ...workers, giveUp: () => { stopping.abort(); } }, running);
  }
  watch(parts, workers, status);
  return {
    ...clients, chain,
    permitDigest: () => running.permitDigest,
    collateral: () => running.collateral,
    status,
    async stop() {
      stopping.abort();
      await later;
      await Promise.all([running.settlement?.done, running.lane?.done, running.indexer?.done]);
    },
  };
}

/** What has been started so far. */
interface Running {
  beginning: Beginning;
  indexer?: Indexer;
  lane?: Lane;
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
  const signal = followedUntil(workers.signal, indexer);
  running.lane ??= await startLane(parts, { ...workers, signal });
  running.settlement = startSettlement(parts, { ...workers, signal, indexer });
  running.beginning = { failures: 0 };
}

async function keepTrying(parts: ChainParts, { giveUp, ...workers }: WorkerParts & { giveUp: () => void }, running: Running): Promise<void> {
  const { signal, report } = workers;
  while (!signal.aborted) {
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    try {
      if (!signal.aborted) await begin(parts, workers, running);
      return;
    } catch (error) {
      if (signal.aborted) return;
      const { message } = error as Error;
      const { failures } = running.beginning;
      running.beginning = { failures: failures + 1, lastError: message };
      if (error instanceof ChainUnavailable) continue;
      // The other chains and the orders have nothing to do with it.
      if (running.indexer?.status().stopped === undefined) report('alarm', `chain ${parts.chain.chainId} is given up until the next start: ${message}`);
      running.beginning = { ...running.beginning, stopped: message };
      giveUp();
    }
  }
}

/** Calls somebody when the chain is away, or fills wait, for too long. */
function watch({ chain: { chainId }, stalledAfterMs }: ChainParts, { report, signal }: WorkerParts, status: () => ChainState): void {
  const stallsAreTold = Number.isFinite(stalledAfterMs);
  const awayAfterMs = stallsAreTold ? stalledAfterMs : AWAY_AFTER_MS;
  const look = createChainAlarms({ chainId, awayAfterMs, stallsAreTold, report });
  const timer = setInterval(() => { look(status()); }, Math.min(WATCH_MS, Math.max(100, awayAfterMs / 4))).unref();
  signal.addEventListener('abort', () => { clearInterval(timer); }, { once: true });
}

/** After so many failed looks in a row the chain counts as away. */
const AWAY_AFTER_FAILURES = 3;

/** How clients get the history to the chain's latest final block, and why they cannot. */
function followed({ chain: { chainId }, keeping }: ChainParts, running: Running): Pick<ChainClientParts, 'catchUp' | 'trouble'> {
  return {
    trouble() {
      const status = running.indexer?.status();
      if (running.beginning.stopped !== undefined) return running.beginning.stopped;
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

function statusOf({ chain: { chainId }, run }: ChainParts, running: Running): () => ChainState {
  return createChainStatus({
    chainId, now: () => Date.now(), indexer: () => running.indexer?.status(), settlement: () => running.settlement?.status(),
    sends: () => running.settlement?.status().holds ?? false, unsettled: () => unsettledFills(run.engine.state, { chainId, from: 0 }),
    beginning: () => running.beginning,
  });
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

/** On a chain that contradicts the history nothing more may be sent or settled. */
function followedUntil(signal: AbortSignal, indexer: Indexer): AbortSignal {
  const stopping = new AbortController();
  void indexer.done.then(() => { stopping.abort(); });
  return AbortSignal.any([signal, stopping.signal]);
}

/** The name of the key that settles. */
const OPERATOR = 'operator';

async function startLane(parts: ChainParts, { rpc, report, signal }: WorkerParts): Promise<Lane> {
  const { chain, log, databaseUrl, operatorKey, pollMs, maxFeePerGas } = parts;
  const { chainId } = chain;
  return await createLane({
    chain, rpc, key: OPERATOR, privateKey: operatorKey, outbox: createOutbox({ url: databaseUrl }), report, now: monotonic, signal,
    policy: { pollMs, ...maxFeePerGas === undefined ? {} : { maxFeePerGas } },
    async announce({ txHash }, { purpose, note }) {
      if (purpose !== 'settlement') return;
      const command = submissionOf(note, { chainId, txHash, at: Date.now() });
      // Past the orders' queue, like facts: a flood of orders must not hold up what is on its way to the chain.
      await log.append('commands', [{ id: recordId(`settlement:${chainId}:${txHash}`), data: encodeCommand(command) }]);
    },
  });
}

function startSettlement(parts: ChainParts, { report, signal, indexer }: WorkerParts & { readonly indexer: Indexer }): Settlement {
  const { chain, run, log, databaseUrl } = parts;
  const { engine } = run;
  const { chainId } = chain;
  return runSettlement({
    chain, log, report, now: () => Date.now(), newId: randomUUID, signal, catchUp: () => indexer.advanceNow(),
    lane: openLaneUser({
      url: databaseUrl, chainId, key: OPERATOR, purpose: 'settlement',
      standingBy: () => { report('note', `chain ${chainId}: another process settles; standing by`); },
    }),
    view: {
      nextFill: () => engine.state.nextFill,
      unsettled: (from) => unsettledFills(engine.state, { chainId, from }),
      nextBlock: () => chainCursor(engine.state, chainId)?.nextBlock ?? 0,
      history: () => ({ position: engine.state.position - 1, digest: engine.digest }),
    },
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
