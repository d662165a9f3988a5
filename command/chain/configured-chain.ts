/** A chain that the settings name, with its nodes, key and limits. */
import type { Chain } from './chain.js';

export interface ConfiguredChain {
  readonly chain: Chain;
  /** May hold secrets. */
  readonly rpcUrls: readonly string[];
  /**
   * The key that signs settlement transactions: 32 bytes in hex. Absent, as the other keys, in a process without the
   * lane role.
   */
  readonly operatorKey?: string;
  /** The key that signs relayed transactions. */
  readonly relayerKey?: string;
  /** Its address; absent: the chain has no relayer. */
  readonly relayer?: string;
  /** The key that creates and resolves quick markets. */
  readonly quickKey?: string;
  /** Its address; absent: the chain has no quick markets. */
  readonly quick?: string;
  /** The highest fee of a transaction, in wei per unit of gas; absent: the lane's own limit. */
  readonly maxFeePerGas?: bigint;
  /** Time between two requests for new blocks. */
  readonly pollMs: number;
  /**
   * After this time without a new block, the chain counts as stalled; Infinity for a chain that makes blocks on demand.
   */
  readonly stalledAfterMs: number;
  /** Time limit for one request to one node. Default 10 s. */
  readonly requestTimeoutMs?: number;
}
