/** Follows a chain's final blocks and tells the exchange what its contracts did: each fact once, in order, whatever breaks in between. */
import { ChainUnavailable, type Rpc } from '../chain/chain.js';
import { readLatest } from './block-range.js';
import { createFactWriter, CursorStands, type FactWriterOptions } from './fact-writer.js';
import { createScan, ForeignChain, type Scan, type ScanOptions } from './scan.js';

export interface IndexerOptions
  extends Pick<ScanOptions, 'chain' | 'rpc' | 'cursor' | 'isKnownToken' | 'isKnownMarket' | 'digestAt' | 'report'>,
  Pick<FactWriterOptions, 'append' | 'outcomeOf'> {
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** 0 up to 1: spreads the retries of several processes. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Between two looks for new blocks. Default 1 s. */
  readonly pollMs?: number;
  /** The most blocks that are asked for at once. Default 2,000. */
  readonly rangeBlocks?: number;
  /** Blocks without facts after which the history is told how far the chain has been read. Default 10,000. */
  readonly advanceEvery?: number;
  /** The same in milliseconds. Default 15 s. */
  readonly advanceEveryMs?: number;
  /** A chain without a new block for so long is reported. Default 2 min; Infinity for a chain that makes blocks on demand. */
  readonly stalledAfterMs?: number;
  /** The first pause after an error; each further one is twice as long, up to the longest. Default 250 ms and 30 s. */
  readonly retryMs?: number;
  readonly longestRetryMs?: number;
}

export interface IndexerStatus {
  readonly chainId: number;
  /** The highest latest block that a node has told of; undefined before the first answer. */
  readonly latestBlock: number | undefined;
  /** The last block that is final by the chain's confirmations; below 0 while none is. */
  readonly finalBlock: number | undefined;
  /** The block to be read next. */
  readonly nextBlock: number;
  /** Final blocks that are not read yet. */
  readonly lagBlocks: number;
  /** How many blocks are asked for at once at present. */
  readonly rangeBlocks: number;
  /** The chain has had no new block for too long. */
  readonly stalled: boolean;
  /** When a look, or a part of a long one, succeeded last, in milliseconds since the Unix epoch; undefined before the first. */
  readonly lookedAtMs: number | undefined;
  /** Failed tries in a row, and the last one's reason. */
  readonly failures: number;
  readonly lastError: string | undefined;
  /** Why it has stopped for good, if it has. */
  readonly stopped: string | undefined;
}

export interface Indexer {
  status(): IndexerStatus;
  /**
   * Resolves when the history has got to the latest block that is final by now. Throws ChainUnavailable when the nodes cannot be
   * asked, and when the indexer has stopped.
   */
  advanceNow(): Promise<void>;
  /** Resolves after `signal`, with no append under way, and when it has stopped for good (see the status). */
  readonly done: Promise<void>;
}

/** Callers of advanceNow wait through so many failures in a row; with more, they hear of it at once. */
const PATIENCE_FAILURES = 3;

/** Starts following the chain from the engine's cursor on. The engine must have caught up with its log. */
export function runIndexer(options: IndexerOptions): Indexer {
  const { chain, now, signal, report } = options;
  const rpc: Rpc = { chainId: chain.chainId, request: (method, params) => orAborted(options.rpc.request(method, params), signal) };
  const writer = createFactWriter({
    ...options, chainId: chain.chainId, outcomeOf: (position) => orAborted(options.outcomeOf(position), signal),
  });
  const scan = createScan({
    ...options, rpc, writer, digestAt: (position) => orAborted(options.digestAt(position), signal),
    rangeBlocks: options.rangeBlocks ?? 2_000, advanceEvery: options.advanceEvery ?? 10_000, advanceEveryMs: options.advanceEveryMs ?? 15_000,
  });
  const head = watchHead({
    chainId: chain.chainId, recorded: options.cursor()?.block ?? -1, now, report, stalledAfterMs: options.stalledAfterMs ?? 120_000,
  });
  const callers = createCallers();
  const trouble: Trouble = { lookedAtMs: undefined, failures: 0, lastError: undefined, stopped: undefined };
  const done = follow({ options, rpc, scan, head, callers, trouble }).finally(() => {
    callers.reject(unavailable(chain.chainId, trouble));
  });
  return {
    done,
    status() {
      const latestBlock = head.latest();
      const finalBlock = latestBlock === undefined ? undefined : latestBlock - chain.confirmations;
      const nextBlock = scan.next();
      return {
        chainId: chain.chainId, latestBlock, finalBlock, nextBlock, lagBlocks: Math.max(0, (finalBlock ?? -1) + 1 - nextBlock),
        rangeBlocks: scan.rangeBlocks(), stalled: head.stalled(), ...trouble, lastError: trouble.lastError?.message,
      };
    },
    advanceNow() {
      if (trouble.stopped !== undefined || signal.aborted || trouble.failures >= PATIENCE_FAILURES) {
        return Promise.reject(unavailable(chain.chainId, trouble));
      }
      return callers.join();
    },
  };
}

interface Trouble {
  lookedAtMs: number | undefined;
  failures: number;
  lastError: Error | undefined;
  stopped: string | undefined;
}

/** Why nobody can be told that the history has got to the chain's end. */
function unavailable(chainId: number, { lastError, stopped }: Trouble): ChainUnavailable {
  if (stopped === undefined && lastError instanceof ChainUnavailable) return lastError;
  return new ChainUnavailable(chainId, stopped ?? lastError?.message ?? 'its indexer has stopped', { cause: lastError });
}

interface Parts {
  readonly options: IndexerOptions;
  readonly rpc: Rpc;
  readonly scan: Scan;
  readonly head: HeadWatch;
  readonly callers: Callers;
  readonly trouble: Trouble;
}

/** Passes, one after the other, until the signal aborts or the chain turns out to be another one. */
async function follow(parts: Parts): Promise<void> {
  const { options: { chain, now, signal, report, pollMs = 1_000 }, callers, head, trouble } = parts;
  while (!signal.aborted) {
    const waiting = callers.waiting();
    try {
      const isTold = await pass(parts, waiting.length > 0);
      const unready = new ChainUnavailable(chain.chainId, 'no block after the recorded facts is final yet');
      for (const { resolve, reject } of waiting) if (isTold) resolve(); else reject(unready);
      if (trouble.failures > 0) report('note', `chain ${chain.chainId}: reading goes on after ${trouble.failures} failed tries`);
      trouble.lookedAtMs = now();
      trouble.failures = 0;
      trouble.lastError = undefined;
      await callers.next(pollMs, signal);
    } catch (thrown) {
      if (signal.aborted) return;
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      if (error instanceof ForeignChain || error instanceof CursorStands) {
        trouble.stopped = error.message;
        report('alarm', error.message);
        return;
      }
      trouble.failures += 1;
      if (trouble.lastError?.message !== error.message) report('trouble', `chain ${chain.chainId}: ${error.message}; it is tried again`);
      trouble.lastError = error;
      head.look();
      if (trouble.failures >= PATIENCE_FAILURES) callers.reject(unavailable(chain.chainId, trouble));
      await pause(retryPauseMs(trouble.failures, parts.options), signal);
    }
  }
}

/**
 * Reads on to the latest final block; `advance` tells the history so even when there was nothing in it. Resolves with false when
 * there is nothing to tell yet.
 */
async function pass({ options: { chain, now, signal }, rpc, scan, head, trouble }: Parts, advance: boolean): Promise<boolean> {
  const latest = await readLatest(rpc);
  head.seen(latest);
  const final = latest - chain.confirmations;
  while (scan.next() <= final) {
    await scan.readOn(final);
    trouble.lookedAtMs = now();
    signal.throwIfAborted();
  }
  if (!advance) return true;
  if (scan.next() <= (head.latest() ?? 0) - chain.confirmations) throw new ChainUnavailable(chain.chainId, `a node's latest block is only ${latest}`);
  return await scan.advance();
}

/** Twice as long with every failure in a row, give or take a half, so that many processes do not come back at once. `random` is 0 up to 1. */
export function retryPauseMs(failures: number, { random, retryMs = 250, longestRetryMs = 30_000 }: RetryOptions): number {
  return Math.min(longestRetryMs, retryMs * 2 ** Math.min(failures - 1, 30)) * (0.5 + random());
}

type RetryOptions = Pick<IndexerOptions, 'random' | 'retryMs' | 'longestRetryMs'>;

interface HeadWatch {
  latest(): number | undefined;
  stalled(): boolean;
  seen(latest: number): void;
  /** Time has passed without an answer. */
  look(): void;
}

/** Notices a chain that stops, and a node that is behind what was seen, or was `recorded` by an earlier process. */
function watchHead({ chainId, recorded, now, report, stalledAfterMs }: {
  chainId: number; recorded: number; now: () => number; report: IndexerOptions['report']; stalledAfterMs: number;
}): HeadWatch {
  let highest: number | undefined;
  let movedAtMs = now();
  let stalled = false;
  let behind = false;

  function look(): void {
    if (stalled || now() - movedAtMs < stalledAfterMs) return;
    stalled = true;
    report('alarm', `chain ${chainId}: no new block for ${Math.round((now() - movedAtMs) / 1_000)} s after block ${highest ?? '(none)'}; `
    + 'fills wait until it goes on: look at the chain and at its nodes');
  }

  return {
    latest: () => highest,
    stalled: () => stalled,
    look,
    seen(latest) {
      if (highest === undefined || latest > highest) {
        highest = latest;
        movedAtMs = now();
        if (stalled) report('note', `chain ${chainId}: it goes on with block ${latest}`);
        stalled = false;
      } else {
        look();
      }
      const reached = Math.max(highest, recorded);
      if (latest < reached && !behind) {
        report('trouble', `chain ${chainId}: a node's latest block is ${latest}, after ${reached} was read; it is waited for. If the chain was reset, bring back `
        + 'its state, or begin a new history on contracts of its own');
      }
      behind = latest < reached;
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
  /** Resolves at the next caller, after the time, or on abort. */
  next(timeoutMs: number, signal: AbortSignal): Promise<void>;
}

/** Those who wait for advanceNow: all that came before a pass are served by it. */
function createCallers(): Callers {
  const waiting = new Set<Caller>();
  let wake = (): void => undefined;
  return {
    join: () => new Promise((resolve, reject) => {
      const caller = {
        resolve() { if (waiting.delete(caller)) resolve(); },
        reject(error: Error) { if (waiting.delete(caller)) reject(error); },
      };
      waiting.add(caller);
      wake();
    }),
    waiting: () => [...waiting],
    reject(error) { for (const caller of [...waiting]) caller.reject(error); },
    async next(timeoutMs, signal) {
      if (waiting.size === 0) await pause(timeoutMs, signal, (resume) => { wake = resume; });
    },
  };
}

/** Ends after the time, on abort, or by the function that `wakes` is handed. */
function pause(ms: number, signal: AbortSignal, wakes?: (resume: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener('abort', finish);
    wakes?.(finish);
    if (signal.aborted) finish();
  });
}

/** The work's result, or a rejection as soon as the signal aborts. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => { reject(signal.reason as Error); };
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    work.then(resolve, reject).finally(() => { signal.removeEventListener('abort', abort); });
  });
}
