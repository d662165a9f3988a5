/** A chain that the settings name, with its nodes, key and limits. */
import type { Chain } from '../../command/chain/chain.js';

export interface ConfiguredChain {
  readonly chain: Chain;
  /** May hold secrets. */
  readonly rpcUrls: readonly string[];
  /** The key that signs settlement transactions: 32 bytes in hex. Only the lane role needs it. */
  readonly operatorKey: string;
  /** The key that signs relayed transactions, which only the lane role needs, and its address; absent: the chain has no relayer. */
  readonly relayerKey?: string;
  readonly relayer?: string;
  /** The key that creates and resolves quick markets, which only the lane role needs, and its address; absent: the chain has none. */
  readonly quickKey?: string;
  readonly quick?: string;
  /** The highest fee of a transaction, in wei per unit of gas; absent: the lane's own limit. */
  readonly maxFeePerGas?: bigint;
  /** Time between two requests for new blocks. */
  readonly pollMs: number;
  /** After this time without a new block, the chain counts as stalled; Infinity for a chain that makes blocks on demand. */
  readonly stalledAfterMs: number;
  /** Time limit for one request to one node. Default 10 s. */
  readonly requestTimeoutMs?: number;
}
