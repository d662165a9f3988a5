/** What the chain would take of an unresolved market at present, for `GET /resolution/{marketId}`. */
import { createChainReads } from '../../../command/chain/chain-reads.js';
import { createWaysOutReader } from '../../../command/chain/ways-out.js';
import { within } from '../../../engine/waiting.js';
import type { Unresolved, WaysOut } from '../../../query/resolution.js';
import type { ChainAccess } from '../../chains/chain-access.js';

export interface WaysOutParts {
  readonly chains: ReadonlyMap<number, Pick<ChainAccess, 'chain' | 'clientRpc'>>;
  /** Milliseconds, not going back. */
  readonly monotonic: () => number;
  /** The answer does not wait longer for a chain: the history's part is worth more than the rest. */
  readonly chainWithinMs?: number;
}

const CHAIN_WITHIN_MS = 2_000;

/** Resolves with undefined where the chain is not configured, does not answer or has any other fault: troubles of nodes are told elsewhere. */
export function createWaysOut(
  { chains, monotonic: now, chainWithinMs = CHAIN_WITHIN_MS }: WaysOutParts,
): (market: Unresolved) => Promise<WaysOut | undefined> {
  const readers = new Map([...chains].map(([chainId, { chain, clientRpc }]) => [
    chainId, createWaysOutReader({ chain, reads: createChainReads(chain, clientRpc), now })]));
  return async ({ chainId, ...market }) => {
    const waysOut = readers.get(chainId)?.(market).catch(() => undefined);
    return waysOut === undefined ? undefined : within(waysOut, chainWithinMs);
  };
}
