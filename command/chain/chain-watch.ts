/**
 * Watches whether the history keeps up with a chain, by the chain and the history alone: the indexer may run in another
 * process.
 */
import type { Replica } from '../../engine/run/replica.js';
import { recordedBlock, type EngineView } from '../../engine/run/view.js';
import { createBell, pause } from '../../engine/waiting.js';
import { readBlock, readLatest } from './block-range.js';
import type { ChainAccess } from './chain-access.js';
import { ChainUnavailable } from './chain.js';

export interface ChainWatch {
  /**
   * Resolves when the chain answers and still has the block that the history recorded last. Throws ChainUnavailable.
   */
  verify(): Promise<void>;
  /** Resolves when the history has all facts up to the block that is final at the call. Throws ChainUnavailable. */
  catchUp(): Promise<void>;
  /**
   * The chain's latest block, by the latest answer to a request; undefined before the first one. Fresh after `verify`
   * and `catchUp`.
   */
  latestBlock(): number | undefined;
  /** Why the history does not keep up with the chain, by the latest requests; undefined when it does. */
  problem(): string | undefined;
  /** To be called after every command that the replica has decided. */
  stepped(): void;
}

export interface ChainWatchOptions {
  readonly access: Pick<ChainAccess, 'chain' | 'rpc' | 'configured' | 'signal' | 'startAttempts'>;
  readonly view: Pick<EngineView, 'cursor'>;
  /** Requests the indexer, which may be in another process, to record up to the chain's final block. */
  readonly askToAdvance: () => void;
  /** Milliseconds, not going back. */
  readonly now: () => number;
}

/** After this number of failures in a row, the chain counts as unreachable. */
const AWAY_AFTER_FAILURES = 3;
const CATCH_UP_WITHIN_MS = 10_000;
/** The request to the indexer is repeated after this time, since it may be lost. */
const ASK_AGAIN_MS = 500;
/**
 * When the history has been behind for this time, no indexer records the chain: facts are recorded within seconds, the
 * cursor within 15 s.
 */
const UNRECORDED_AFTER_MS = 60_000;
const LEAST_LOOK_MS = 1_000;
const LONGEST_LOOK_MS = 5_000;

/** Starts the watch, which looks at the chain regularly until the access's signal aborts. */
export function watchChain(options: ChainWatchOptions): ChainWatch {
  const { access: { chain: { chainId }, signal }, view, askToAdvance, now } = options;
  const bell = createBell();
  const looks = createLooks(options);
  void looks.keepLooking();
  const isRecorded = (block: number): boolean => (recordedBlock(view, chainId) ?? -1) >= block;

  /** Waits until the history has the block, at most until `untilMs`. */
  async function recorded(block: number, untilMs: number): Promise<void> {
    while (now() < untilMs && !isRecorded(block)) {
      if (await bell.wait(signal, untilMs - now()) === 'aborted') return;
    }
  }

  return {
    stepped: () => { bell.ring(); },
    problem: () => looks.problem(),
    latestBlock: () => looks.latestBlock(),
    async verify() {
      await looks.look();
      if (looks.isUnrecorded()) throw new ChainUnavailable(chainId, 'no process records it: is an indexer running?');
    },
    async catchUp() {
      const final = await looks.look();
      const untilMs = now() + CATCH_UP_WITHIN_MS;
      while (!isRecorded(final)) {
        if (signal.aborted || now() >= untilMs) {
          throw new ChainUnavailable(chainId, `block ${final} has not been recorded within ${CATCH_UP_WITHIN_MS / 1_000} s: is an indexer running?`);
        }
        askToAdvance();
        await recorded(final, now() + ASK_AGAIN_MS);
      }
    },
  };
}

/** One watch per chain for all that read the history through a replica, made at the first call for it. */
export function watchesOf(
  { replica, askToAdvance, now }: { readonly replica: () => Promise<Pick<Replica, 'view' | 'onStep'>>; readonly askToAdvance: (chainId: number) => void; readonly now: () => number },
): (access: ChainAccess) => Promise<ChainWatch> {
  const watches = new Map<ChainAccess, Promise<ChainWatch>>();
  return (access) => {
    const watch = watches.get(access) ?? replica().then(({ view, onStep }) => {
      const made = watchChain({ access, view, askToAdvance: () => { askToAdvance(access.chain.chainId); }, now });
      onStep(() => { made.stepped(); });
      return made;
    });
    watches.set(access, watch);
    return watch;
  };
}

/** Looks at the chain, and remembers the results. */
function createLooks({ access: { chain, rpc, configured, signal, startAttempts }, view, now }: ChainWatchOptions) {
  const { chainId, confirmations } = chain;
  const behind = createLag(now);
  let failures = 0;
  let lastError: string | undefined;
  let latest: number | undefined;

  async function readFinal(): Promise<number> {
    const { stopped } = startAttempts();
    if (stopped !== undefined) throw new ChainUnavailable(chainId, stopped);
    latest = await readLatest(rpc);
    const final = latest - confirmations;
    const { block, blockHash } = view.cursor(chainId) ?? {};
    if (block !== undefined && (await readBlock(rpc, block))?.hash !== blockHash) {
      throw new ChainUnavailable(chainId, `it does not have block ${block} as the history recorded it`);
    }
    behind.seen(final, block ?? -1);
    return final;
  }

  /** The latest final block. Throws ChainUnavailable, also when the chain contradicts the history. */
  async function look(): Promise<number> {
    try {
      const final = await readFinal();
      failures = 0;
      return final;
    } catch (error) {
      failures += 1;
      lastError = (error as Error).message;
      throw error instanceof ChainUnavailable ? error : new ChainUnavailable(chainId, lastError, { cause: error });
    }
  }

  const isUnrecorded = (): boolean => behind.forMs() > UNRECORDED_AFTER_MS;
  return {
    look, isUnrecorded,
    latestBlock: () => latest,
    async keepLooking(): Promise<void> {
      while (!signal.aborted) {
        await look().catch(() => undefined);
        await pause(Math.min(LONGEST_LOOK_MS, Math.max(LEAST_LOOK_MS, configured.pollMs)), signal);
      }
    },
    problem(): string | undefined {
      const { stopped } = startAttempts();
      if (stopped !== undefined) return stopped;
      if (failures >= AWAY_AFTER_FAILURES) return lastError;
      return isUnrecorded() ? 'no process records it' : undefined;
    },
  };
}

/** Measures for how long the history has lacked a final block. */
function createLag(now: () => number) {
  let missing: { readonly block: number; readonly sinceMs: number } | undefined;
  return {
    seen(final: number, recorded: number): void {
      if (missing !== undefined && recorded >= missing.block) missing = undefined;
      if (missing === undefined && final > recorded) missing = { block: final, sinceMs: now() };
    },
    forMs: () => missing === undefined ? 0 : now() - missing.sinceMs,
  };
}
