/** Asks the settlement contract which fills it has settled, or has failed for good: their numbers are used up. */
import { ChainUnavailable, type Chain } from '../chain/chain.js';
import type { ChainReads } from '../chain/chain-reads.js';

/** A function that reads it at the newest block, in one call. It throws ChainUnavailable. */
export function createSettledOnChain(
  { chainId, contracts }: Pick<Chain, 'chainId' | 'contracts'>, reads: Pick<ChainReads, 'views'>,
): (fills: readonly number[]) => Promise<ReadonlySet<number>> {
  return async (fills) => {
    const calls = fills.map((fill) => ({ abi: 'settlement', to: contracts.settlement, method: 'isSettled', args: [fill] } as const));
    const answers = await reads.views(calls, 'latest');
    if (answers.some((answer) => typeof answer !== 'boolean')) throw new ChainUnavailable(chainId, 'the settlement contract does not say which fills it has settled');
    return new Set(fills.filter((_, i) => answers[i] === true));
  };
}
