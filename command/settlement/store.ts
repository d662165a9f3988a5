/**
 * The port to the tables of settlement: how much of the fill feed has come, and the queue of fills that are not
 * settled.
 */
import type { FeedChanges, FeedProgress, FillToSettle } from './feed-changes.js';
import type { FillProgress } from './fill-state.js';

/** A fill of the queue. */
export interface QueuedFill extends FillToSettle, FillProgress {}

export interface LoadedIntake {
  readonly progress: FeedProgress;
  /** The chain of every market that has been opened. */
  readonly markets: ReadonlyMap<string, number>;
}

export interface DueQuery {
  readonly nowMs: number;
  /** No pause is longer: a later time was written before the clock was set back, and counts as over. */
  readonly maxPauseMs: number;
  /** Whether fills that were in no request yet are asked for, too. */
  readonly withNew: boolean;
  readonly limit: number;
}

/** Of a chain's fills in the queue that are in no request; of very many only the first 10,000 are counted. */
export interface QueueCounts {
  readonly waiting: number;
  readonly returned: number;
  /** Fills that go in smaller batches or alone. */
  readonly limited: number;
  /** When the one came, or came back, that waits longest; undefined when none waits. */
  readonly oldestSinceMs: number | undefined;
  /** The earliest time that a returned or doubtful fill waits for; undefined when none does. */
  readonly nextDueMs: number | undefined;
}

export const NOTHING_WAITS: QueueCounts = {
  waiting: 0, returned: 0, limited: 0, oldestSinceMs: undefined, nextDueMs: undefined,
};

/**
 * What one process holds, by one session; the others stand by. Each call is one statement, which takes effect as a
 * whole or not at all. Once a call has thrown OutboxUnavailable, all later calls do; only `load` of another session
 * tells whether that one took effect.
 *
 * Fills from the watermark on are there and are not shown: others with lower numbers are still to come.
 */
export interface SettlementStore {
  /** Throws OutboxUnavailable once the session is known to have ended. */
  check(): void;
  load(): Promise<LoadedIntake>;
  /**
   * Writes what a batch of the feed changes. What comes waits; what has ended leaves the queue, whatever its state.
   * Throws Overtaken.
   */
  take(changes: FeedChanges, nowMs: number): Promise<void>;
  /** The chain's first waiting, returned and doubtful fills whose time has come, in the order of their numbers. */
  due(chainId: number, query: DueQuery): Promise<readonly QueuedFill[]>;
  /** Those of the fills that are still in the queue, in any state. */
  fills(chainId: number, fills: readonly number[]): Promise<readonly QueuedFill[]>;
  /** All that are in a request. */
  requested(chainId: number): Promise<readonly QueuedFill[]>;
  counts(chainId: number): Promise<QueueCounts>;
  /** Writes the fills' progress; those that have left the queue stay away. */
  change(chainId: number, fills: readonly QueuedFill[]): Promise<void>;
  /** Resolves when the session has ended, or the signal aborts. */
  ended(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Another process has taken in these messages since this session loaded: nothing of the batch is written. */
export class Overtaken extends Error {
  constructor() {
    super('another process has taken in these messages');
    this.name = 'Overtaken';
  }
}
