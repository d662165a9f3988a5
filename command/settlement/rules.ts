/** The numbers by which settlement goes. */

export interface QueueRules {
  /** The most fills per batch. */
  readonly maxFills: number;
  /** How long the first fill of a batch may wait for more fills. */
  readonly gatherMs: number;
  /**
   * When no batch was asked for so long, the next fills go at once: until they settle, a trader can take away what they
   * need.
   */
  readonly quietMs: number;
  /** The first pause of a fill that came back alone, or is doubtful; each further pause is twice as long. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
  /** While this many returned fills wait, no new fills are taken. */
  readonly maxReturned: number;
  /**
   * After this many reverted transactions in a row, or one that left all its fills untouched, transactions go one at a
   * time, with pauses.
   */
  readonly slowAfter: number;
  readonly maxSlowPauseMs: number;
}

export const QUEUE_RULES: QueueRules = {
  maxFills: 50, gatherMs: 250, quietMs: 250, pauseMs: 1_000, maxPauseMs: 600_000, maxReturned: 1_000, slowAfter: 8,
  maxSlowPauseMs: 60_000,
};

export interface SettlementTimings {
  readonly pollMs: number;
  /** The first pause after a failure; doubled with each further failure, up to `maxRetryMs`. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** How often the lane's state is read without a wake-up, since a wake-up may be lost. */
  readonly laneLookMs: number;
  /** After this time without a sign of a process that works on the lane, the worker reports a problem. */
  readonly laneSilentMs: number;
  /** The most transactions that have not ended. */
  readonly maxOpen: number;
  /** The most requests that the lane has not taken yet. */
  readonly maxAsked: number;
  /** The waiting fills are counted at most so often. */
  readonly countMs: number;
}

export const SETTLEMENT_TIMINGS: SettlementTimings = {
  pollMs: 25, retryMs: 250, maxRetryMs: 10_000, laneLookMs: 500, laneSilentMs: 30_000, maxOpen: 256, maxAsked: 16,
  countMs: 1_000,
};

/**
 * Batches per request to the lane: enough to share a commit, and few enough that the lane works while the next ones are
 * made.
 */
export const ASKED_TOGETHER = 4;
