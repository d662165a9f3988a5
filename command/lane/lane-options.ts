/** A lane's options, policy with defaults, and status. */
import type { Chain } from '../chain/chain.js';
import type { Report } from '../../engine/report.js';
import type { Backoff } from '../../engine/waiting.js';
import type { LaneRpc } from './chain-view.js';
import type { Outbox } from './outbox.js';
import type { Attempt, HeldRequest } from './requests.js';

export interface LaneOptions {
  readonly chain: Pick<Chain, 'chainId' | 'confirmations'>;
  readonly rpc: LaneRpc;
  /** The key's name, by which requests ask for it. */
  readonly key: string;
  /** 32 bytes, as 0x and 64 hex digits. */
  readonly privateKey: string;
  readonly outbox: Outbox;
  /**
   * Awaited after an attempt is recorded and before it is broadcast, at least once per attempt; after a restart again
   * for attempts that are not known to be broadcast. While it fails, this attempt and those with later nonces are not
   * broadcast, and it is called again.
   */
  readonly announce: (attempt: Attempt, request: HeldRequest) => Promise<void>;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly report: Report;
  /** Ends the lane like stop(). */
  readonly signal?: AbortSignal;
  readonly policy?: Partial<LanePolicy>;
}

/** Prices in wei per unit of gas, times in milliseconds. */
export interface LanePolicy {
  /** The most that a transaction may offer. */
  readonly maxFeePerGas: bigint;
  readonly minPriorityFeePerGas: bigint;
  /** The most gas per transaction. The chain's block gas limit applies as well. */
  readonly maxGasLimit: bigint;
  /** The most transactions that are recorded but not mined. */
  readonly maxInFlight: number;
  /** The most transactions that are not over. */
  readonly maxOpen: number;
  /** How often the chain is looked at while a transaction is under way. */
  readonly pollMs: number;
  /** How often otherwise, unless `pollMs` is longer. A new request does not wait for it. */
  readonly idlePollMs: number;
  /** An attempt is replaced when it is not mined within this many blocks and `bumpAfterMs`. */
  readonly bumpAfterBlocks: number;
  readonly bumpAfterMs: number;
  /** How often an attempt that is not mined is broadcast again. */
  readonly rebroadcastMs: number;
  /** A transaction whose nonce another one used is given up after this time and `confirmations` blocks. */
  readonly lostAfterMs: number;
  /** A nonce gap is filled after this time. */
  readonly gapAfterMs: number;
  /** A transaction count above the recorded nonces is believed after this many looks in agreement. */
  readonly looks: number;
  /** The least time between two such looks. */
  readonly looksApartMs: number;
  /** The pauses after failures in a row. */
  readonly backoff: Backoff;
  /** How often the lane publishes its state when nothing changes. */
  readonly publishMs: number;
}

/** 2^24 gas is EIP-7825's limit per transaction. */
export const LANE_POLICY: LanePolicy = {
  maxFeePerGas: 500_000_000_000n, minPriorityFeePerGas: 1n, maxGasLimit: 1n << 24n, maxInFlight: 16, maxOpen: 1_000,
  pollMs: 1_000, idlePollMs: 1_000,
  bumpAfterBlocks: 5, bumpAfterMs: 15_000, rebroadcastMs: 15_000, lostAfterMs: 60_000, gapAfterMs: 60_000, looks: 3,
  looksApartMs: 1_000,
  backoff: { firstMs: 250, longestMs: 30_000 }, publishMs: 5_000,
};

export interface LaneStatus {
  /** Lower-case hex. */
  readonly address: string;
  /** Whether this process works on the lane; if not, another process may. */
  readonly holds: boolean;
  /** Transactions that are not over. */
  readonly open: number;
  /** The block gas limit at the last look at the chain; undefined before the first. */
  readonly blockGasLimit: bigint | undefined;
  /** What stops the lane at present; undefined when nothing does. */
  readonly problem: string | undefined;
}

export interface Lane {
  /** The key's address, in lower-case hex. */
  readonly address: string;
  /** Resolves when the lane has ended. Only stop() and its signal end it. */
  readonly done: Promise<void>;
  status(): LaneStatus;
  /** Ends the lane. Recorded transactions are continued at the next start. */
  stop(): Promise<void>;
}
