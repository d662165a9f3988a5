/** A chain that the settings name, with the means to use it. */
import type { Chain } from '../../command/chain/chain.js';

export interface ConfiguredChain {
  readonly chain: Chain;
  /** May hold secrets. */
  readonly rpcUrls: readonly string[];
  /** The key that settles: 32 bytes in hex. Only the lane role needs it. */
  readonly operatorKey: string;
  /** Wei per unit of gas that no settlement exceeds; absent: the lane's own limit. */
  readonly maxFeePerGas?: bigint;
  /** How often its nodes are asked for what is new. */
  readonly pollMs: number;
  /** After this time without a block the chain counts as stalled; Infinity where blocks come on demand. */
  readonly stalledAfterMs: number;
  /** For one request to one of its nodes. Default 10 s. */
  readonly requestTimeoutMs?: number;
}
