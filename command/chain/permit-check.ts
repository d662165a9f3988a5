/**
 * Whether the stablecoin would take an order's permit, where the signature alone does not tell: an owner whose account
 * has code.
 */
import type { OrderPermit } from '../../engine/records/commands.js';
import { encodeCall } from './abi.js';
import type { Chain } from './chain.js';
import type { ChainReads } from './chain-reads.js';

/**
 * What the settlement contract gives a permit (PERMIT_GAS of Settlement), and what a transaction costs by itself: code
 * that needs more is refused there, too.
 */
const PERMIT_GAS = 150_000n + 21_000n;

export interface OwnedPermit {
  /** Lower-case hex; the order's trader. */
  readonly owner: string;
  readonly permit: OrderPermit;
}

/**
 * A check of permits for the settlement contract, whose signature by the owner's key has been checked. Of accounts with
 * code (EIP-7702) some stablecoins ask the code whether a signature holds (ERC-1271), so there the token is asked.
 * Throws ChainUnavailable.
 */
export function createPermitCheck(
  { contracts: { collateral, settlement } }: Pick<Chain, 'contracts'>, reads: Pick<ChainReads, 'code' | 'simulate'>,
): (permit: OwnedPermit) => Promise<boolean> {
  return async ({ owner, permit: { value, deadline, v, r, s } }) => {
    if (await reads.code(owner) === '0x') return true;
    const data = encodeCall({ abi: 'collateral', method: 'permit', args: [owner, settlement, value, deadline, v, r, s] });
    return 'returned' in await reads.simulate({ from: settlement, to: collateral, data, gasLimit: PERMIT_GAS });
  };
}
