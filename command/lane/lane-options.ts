/** What a lane is given and what it tells the process that runs it; its policy and the policy's defaults. */
import type { Chain } from '../chain/chain.js';
import type { Report } from '../chain/report.js';
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
   * Awaited after an attempt is recorded and before it is broadcast, at least once for each attempt: also after a restart, for those that
   * are not known to be broadcast. A failure holds the broadcast back, and those behind it; it is called again.
   */
  readonly announce: (attempt: Attempt, request: HeldRequest) => Promise<void>;
  /** Milliseconds, not going back. */
  readonly now: () => number;
  readonly report: Report;
  /** Ends the lane like stop(). */
  readonly signal?: AbortSignal;
  readonly policy?: Partial<LanePolicy>;
}

/** Prices in wei for a unit of gas, times in milliseconds. */
export interface LanePolicy {
  /** No transaction ever offers more. */
  readonly maxFeePerGas: bigint;
  readonly minPriorityFeePerGas: bigint;
  /** The chain's block gas limit counts too. */
  readonly maxGasLimit: bigint;
  /** Recorded and not mined. */
  readonly maxInFlight: number;
  /** Not over. */
  readonly maxOpen: number;
  /** How often the chain is looked at. */
  readonly pollMs: number;
  /** Blocks without it after which an attempt is replaced; */
  readonly bumpAfterBlocks: number;
  /** and the least time. */
  readonly bumpAfterMs: number;
  readonly rebroadcastMs: number;
  /** A nonce that another transaction used is given up after this time, and `confirmations` blocks. */
  readonly lostAfterMs: number;
  /** A nonce that the chain wants and that is not on its way is filled after this time. */
  readonly gapAfterMs: number;
  /** A transaction count that nobody has recorded is believed after so many looks that agree, */
  readonly looks: number;
  /** so far apart. */
  readonly looksApartMs: number;
  /** Waits after failures in a row; the last one repeats. */
  readonly backoffMs: readonly number[];
  /** How often a lane that is well says so. */
  readonly publishMs: number;
}

/** 2^24 gas is EIP-7825's limit for a transaction. */
export const LANE_POLICY: LanePolicy = {
  maxFeePerGas: 500_000_000_000n, minPriorityFeePerGas: 1n, maxGasLimit: 1n << 24n, maxInFlight: 16, maxOpen: 1_000, pollMs: 1_000,
  bumpAfterBlocks: 5, bumpAfterMs: 15_000, rebroadcastMs: 15_000, lostAfterMs: 60_000, gapAfterMs: 60_000, looks: 3, looksApartMs: 1_000,
  backoffMs: [250, 500, 1_000, 2_000, 5_000, 10_000, 30_000], publishMs: 5_000,
};

export interface LaneStatus {
  /** Lower-case hex. */
  readonly address: string;
  /** Whether this process works on the lane; another one may. */
  readonly holds: boolean;
  /** Transactions that are not over. */
  readonly open: number;
  /** A block's gas when the chain was looked at last; undefined before that. */
  readonly blockGasLimit: bigint | undefined;
  /** What keeps the lane from going on; undefined when nothing does. */
  readonly trouble: string | undefined;
}

export interface Lane {
  /** The key's address, in lower-case hex. */
  readonly address: string;
  /** Resolves when the lane has ended, after stop() or its signal. Nothing else ends it. */
  readonly done: Promise<void>;
  status(): LaneStatus;
  /** Stops following; what is recorded goes on at the next start. */
  stop(): Promise<void>;
}
