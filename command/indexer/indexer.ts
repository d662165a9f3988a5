/**
 * Follows a chain's final blocks and records what the exchange's contracts did: each fact once, in order, also across
 * failures.
 */
import { startRounds } from '../../engine/reactor.js';
import { createBell, orAborted } from '../../engine/waiting.js';
import { ChainUnavailable, onOneNode, type Chain, type Rpc } from '../chain/chain.js';
import { readLatest } from '../chain/block-range.js';
import { createFactWriter, CursorStands, type FactWriterOptions } from './fact-writer.js';
import { ForeignChain } from './foreign-chain.js';
import { createScan, type Scan, type ScanOptions } from './scan.js';

export interface IndexerOptions
  extends Pick<ScanOptions, 'chain' | 'rpc' | 'cursor' | 'view' | 'caughtUp' | 'isKnownToken' | 'isKnownMarket' | 'digestAt' | 'report'>,
  Pick<FactWriterOptions, 'append' | 'outcomeOf'> {
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** A random number from 0 up to 1, which spreads the retries of several processes. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Milliseconds between two looks for new blocks. Default 1 s. */
  readonly pollMs?: number;
  /** The most blocks per request. Default 2,000. */
  readonly rangeBlocks?: number;
  /** After this many blocks without facts, the history records how far the chain has been read. Default 10,000. */
  readonly advanceEvery?: number;
  /** The same by time, in milliseconds. Default 15 s. */
  readonly advanceEveryMs?: number;
  /**
   * An alert is reported when the chain has had no new block for this time. Default 2 min; Infinity for a chain with
   * blocks on demand.
   */
  readonly stalledAfterMs?: number;
  /**
   * The first pause after an error; each further pause is twice as long, up to the longest. Default 250 ms and 30 s.
   */
  readonly retryMs?: number;
  readonly longestRetryMs?: number;
}

export interface IndexerStatus {
  readonly chainId: number;
  /** The highest block number that a node has reported; undefined before the first answer. */
  readonly latestBlock: number | undefined;
  /** The last block that has the chain's confirmations; below 0 while there is none. */
  readonly finalBlock: number | undefined;
  /** The number of the next block to read. */
  readonly nextBlock: number;
  /** Final blocks that have not been read yet. */
  readonly lagBlocks: number;
  /** The present number of blocks per request. */
  readonly rangeBlocks: number;
  /** The chain has had no new block for too long. */
  readonly stalled: boolean;
  /**
   * When a range was last read, or a look at the chain last succeeded, in milliseconds since the Unix epoch; undefined
   * before the first.
   */
  readonly lookedAtMs: number | undefined;
  /**
   * Failed tries in a row; `lastError` is the reason of the last one, or that a node answers and is behind what was
   * read before.
   */
  readonly failures: number;
  readonly lastError: string | undefined;
  /** The quick markets that the chain has resolved otherwise than the engine, since the start: a text each. */
  readonly contradicted: readonly string[];
  /** Why the indexer has stopped for good; undefined while it runs. */
  readonly stopped: string | undefined;
}

export interface Indexer {
  status(): IndexerStatus;
  /**
   * Resolves when the history has reached the latest block that is final now. Throws ChainUnavailable when the nodes
   * cannot be asked, and when the indexer has stopped.
   */
  advanceNow(): Promise<void>;
  /**
   * Resolves when the indexer has ended: after `signal`, once no append is under way, or when it has stopped for good
   * (see the status).
   */
  readonly done: Promise<void>;
}

/** Callers of advanceNow wait through this many failures in a row; after that they get the error at once. */
const PATIENCE_FAILURES = 3;

/** Starts to follow the chain from the engine's cursor on. The engine must have caught up with the log before. */
export function runIndexer(options: IndexerOptions): Indexer {
  const { chain, now, signal, report } = options;
  const { passOverAnchors = [], passOverFills = [] } = chain;
  if (passOverAnchors.length > 0) {
    report('info', `chain ${chain.chainId}: its settings pass over the anchors of ${passOverAnchors.length} transactions: ${passOverAnchors.join(', ')}`);
  }
  if (passOverFills.length > 0) {
    report('info', `chain ${chain.chainId}: its settings pass over false fills of ${passOverFills.length} transactions: ${passOverFills.join(', ')}`);
  }
  const rpc: Rpc = {
    chainId: chain.chainId,
    request: (method, params) => orAborted(options.rpc.request(method, params), signal),
    onOneNode: (read) => orAborted(onOneNode(options.rpc, read), signal),
  };
  const writer = createFactWriter({
    ...options, chainId: chain.chainId, outcomeOf: (position, id) => orAborted(options.outcomeOf(position, id), signal),
  });
  const scan = createScan({
    ...options, rpc, writer, digestAt: (position) => orAborted(options.digestAt(position), signal),
    caughtUp: () => orAborted(options.caughtUp(), signal),
    rangeBlocks: options.rangeBlocks ?? 2_000, advanceEvery: options.advanceEvery ?? 10_000,
    advanceEveryMs: options.advanceEveryMs ?? 15_000,
  });
  const head = watchHead({
    chain, recorded: options.cursor()?.block ?? -1, now, report, stalledAfterMs: options.stalledAfterMs ?? 120_000,
  });
  const callers = createCallers();
  const problem: Problem = { lookedAtMs: undefined, failures: 0, lastError: undefined, stopped: undefined };
  const done = follow({ options, rpc, scan, head, callers, problem }).finally(() => {
    callers.reject(unavailable(chain.chainId, problem));
  });
  return {
    done,
    status() {
      const latestBlock = head.latest();
      const finalBlock = latestBlock === undefined ? undefined : latestBlock - chain.confirmations;
      const nextBlock = scan.next();
      return {
        chainId: chain.chainId, latestBlock, finalBlock, nextBlock,
        lagBlocks: Math.max(0, (finalBlock ?? -1) + 1 - nextBlock),
        rangeBlocks: scan.rangeBlocks(), contradicted: scan.contradicted(), stalled: head.stalled(),
        ...problem, lastError: problem.lastError?.message ?? head.behind(),
      };
    },
    advanceNow() {
      if (problem.stopped !== undefined || signal.aborted || problem.failures >= PATIENCE_FAILURES) {
        return Promise.reject(unavailable(chain.chainId, problem));
      }
      return callers.join();
    },
  };
}

interface Problem {
  lookedAtMs: number | undefined;
  failures: number;
  lastError: Error | undefined;
  stopped: string | undefined;
}

/** The error for callers of advanceNow. */
function unavailable(chainId: number, { lastError, stopped }: Problem): ChainUnavailable {
  if (stopped === undefined && lastError instanceof ChainUnavailable) return lastError;
  return new ChainUnavailable(chainId, stopped ?? lastError?.message ?? 'its indexer has stopped', { cause: lastError });
}

interface Parts {
  readonly options: IndexerOptions;
  readonly rpc: Rpc;
  readonly scan: Scan;
  readonly head: HeadWatch;
  readonly callers: Callers;
  readonly problem: Problem;
}

/** Reads the chain again and again until the signal aborts or the chain contradicts the history. */
async function follow(parts: Parts): Promise<void> {
  const {
    options: { chain, signal, report, random, pollMs = 1_000, retryMs = 250, longestRetryMs = 30_000 }, callers, problem,
  } = parts;
  const { done } = startRounds({
    round: () => look(parts).catch((error: unknown) => { throw failed(error, parts); }),
    rest: () => callers.next(pollMs, signal),
    canPass: (error) => !contradicts(error),
    backoff: { firstMs: retryMs, longestMs: longestRetryMs, random }, who: `chain ${chain.chainId}: reading`, report, signal,
  });
  await done.catch((error: unknown) => {
    if (!contradicts(error)) throw error;
    problem.stopped = error.message;
    report('alert', error.message);
  });
}

function contradicts(error: unknown): error is Error {
  return error instanceof ForeignChain || error instanceof CursorStands;
}

/** Reads on, and answers those who wait for it. */
async function look(parts: Parts): Promise<void> {
  const { options: { chain, now }, callers, problem } = parts;
  const waiting = callers.waiting();
  const hasAdvanced = await pass(parts, waiting.length > 0);
  const unready = new ChainUnavailable(chain.chainId, 'no block after the recorded facts is final yet');
  for (const { resolve, reject } of waiting) if (hasAdvanced) resolve(); else reject(unready);
  Object.assign(problem, { lookedAtMs: now(), failures: 0, lastError: undefined });
}

/** Records the failure of a look. Returns the error. */
function failed(thrown: unknown, { options: { chain, signal }, callers, head, problem }: Parts): Error {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (signal.aborted || contradicts(error)) return error;
  problem.failures += 1;
  problem.lastError = error;
  head.look();
  if (problem.failures >= PATIENCE_FAILURES) callers.reject(unavailable(chain.chainId, problem));
  return error;
}

/**
 * Reads up to the latest final block. With `advance`, the history records that block even without facts. Resolves with
 * false when `advance` is asked for and no block after the recorded facts is final yet.
 */
async function pass(parts: Parts, advance: boolean): Promise<boolean> {
  const { options: { chain, now, signal }, rpc, scan, head, problem } = parts;
  const latest = await readLatest(rpc);
  if (problem.lookedAtMs === undefined) refuseLostBlocks(latest, parts);
  head.seen(latest);
  const final = latest - chain.confirmations;
  while (scan.next() <= final) {
    await scan.readOn(final);
    problem.lookedAtMs = now();
    signal.throwIfAborted();
  }
  if (!advance) return true;
  if (scan.next() <= (head.latest() ?? 0) - chain.confirmations) throw new ChainUnavailable(chain.chainId, `a node's latest block is only ${latest}`);
  return await scan.advance();
}

/**
 * At the first look: a chain that makes blocks on demand does not get back by itself what it lacks of the recorded
 * blocks, so nobody is to wait for that.
 */
function refuseLostBlocks(latest: number, { options: { chain, cursor, stalledAfterMs } }: Parts): void {
  const { block: recorded = -1 } = cursor() ?? {};
  if (stalledAfterMs !== Infinity || latest >= recorded) return;
  throw new ForeignChain(chain, `it ends at block ${latest}, and the history has recorded block ${recorded}: the chain has lost its last blocks`,
    'A development chain does when it is killed or the power fails. Begin anew with an empty data directory (move DATA_DIR away), or bring '
    + 'back the chain\'s state.');
}

interface HeadWatch {
  latest(): number | undefined;
  stalled(): boolean;
  /** What the node lacks that the last look reached; undefined when it lacks nothing. */
  behind(): string | undefined;
  seen(latest: number): void;
  /** Checks for a stall when no node has answered. */
  look(): void;
}

/**
 * Reports a chain without new blocks, and a node that is behind a block that was final before or `recorded` by an
 * earlier process. A node may be behind blocks that were not final: another node answers, or a reorganisation is under
 * way.
 */
function watchHead({ chain: { chainId, confirmations }, recorded, now, report, stalledAfterMs }: {
  chain: Chain; recorded: number; now: () => number; report: IndexerOptions['report']; stalledAfterMs: number;
}): HeadWatch {
  let highest: number | undefined;
  let movedAtMs = now();
  let stalled = false;
  let behind: string | undefined;

  function look(): void {
    if (stalled || now() - movedAtMs < stalledAfterMs) return;
    stalled = true;
    report('alert', `chain ${chainId}: no new block for ${Math.round((now() - movedAtMs) / 1_000)} s after block ${highest ?? '(none)'}; `
    + 'fills wait until the chain goes on: check the chain and its nodes');
  }

  return {
    latest: () => highest,
    stalled: () => stalled,
    behind: () => behind,
    look,
    seen(latest) {
      if (highest === undefined || latest > highest) {
        highest = latest;
        movedAtMs = now();
        if (stalled) report('info', `chain ${chainId}: the chain goes on with block ${latest}`);
        stalled = false;
      } else {
        look();
      }
      const reached = Math.max(highest - confirmations, recorded);
      const lacks = latest < reached
        ? `a node's latest block is ${latest}, but block ${reached} was read before; waits until the node has it. `
        + 'If the chain was reset, bring back its state, or begin a new history with its own contracts'
        : undefined;
      if (lacks !== undefined && behind === undefined) report('warn', `chain ${chainId}: ${lacks}`);
      behind = lacks;
    },
  };
}

interface Caller {
  resolve(): void;
  reject(error: Error): void;
}

interface Callers {
  join(): Promise<void>;
  waiting(): readonly Caller[];
  reject(error: Error): void;
  /** Resolves at once when somebody waits; else at the next caller, after `timeoutMs`, or when the signal aborts. */
  next(timeoutMs: number, signal: AbortSignal): Promise<void>;
}

/** The callers that wait for advanceNow. One pass answers all callers that came before it. */
function createCallers(): Callers {
  const waiting = new Set<Caller>();
  const bell = createBell();
  return {
    join: () => new Promise((resolve, reject) => {
      const caller = {
        resolve() { if (waiting.delete(caller)) resolve(); },
        reject(error: Error) { if (waiting.delete(caller)) reject(error); },
      };
      waiting.add(caller);
      bell.ring();
    }),
    waiting: () => [...waiting],
    reject(error) { for (const caller of [...waiting]) caller.reject(error); },
    async next(timeoutMs, signal) {
      if (waiting.size === 0) await bell.wait(signal, timeoutMs);
    },
  };
}
