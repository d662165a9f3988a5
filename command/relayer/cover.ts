/**
 * Keeps the relayer from carrying what would take away the cover of its owner's open orders and unsettled fills: a match would be a free option
 * else. Owners who pay for gas themselves are not stopped by this; docs/security.md says what stops them.
 */
import { RequestError } from '../../engine/records/errors.js';
import { BUY, SELL, type MarketOutcome } from '../../engine/records/fields.js';
import type { Commitment } from '../../engine/run/view.js';
import type { ContractCall } from '../chain/abi.js';
import { ChainUnavailable, type Chain } from '../chain/chain.js';
import type { ChainReads } from '../chain/chain-reads.js';
import type { RelayMarkets } from './markets.js';
import type { Plan } from './plan.js';

/** What a request takes away from its owner, if anything. Amounts in units of 1e-6. */
type Taking
  /** The settlement contract's right to move the owner's shares. */
  = | { readonly kind: 'approval' }
    /** The settlement contract's allowance, but for this much. The permits of orders with the same nonce go too. */
    | { readonly kind: 'allowance'; readonly left: bigint }
    /** The nonce of the stablecoin's next permit, which an order's permit may need. */
    | { readonly kind: 'permit' }
    | { readonly kind: 'collateral'; readonly amount: bigint }
    | { readonly kind: 'shares'; readonly marketId: string; readonly tokens: readonly [bigint, bigint]; readonly amount: bigint };

/** What an owner has in the newest block; `shares` are the YES and the NO shares of the market that the request is about. */
interface Cover {
  readonly collateral: bigint;
  readonly allowance: bigint;
  readonly shares: readonly [bigint, bigint];
  /** Fills that the contract has settled or failed in that block, so that the balances say so, though the block is not final. */
  readonly ended: ReadonlySet<number>;
}

/** Unsettled fills about which the chain is asked; further ones count. */
const ASKED_FILLS = 500;

export interface CoverParts {
  readonly chain: Pick<Chain, 'chainId' | 'contracts'>;
  readonly markets: RelayMarkets;
  readonly reads: Pick<ChainReads, 'views'>;
  /** By the history as it is now. */
  readonly commitments: (owner: string) => Iterable<Commitment>;
}

/**
 * Resolves with a check that throws RequestError `relay_cover_needed` when the request would take away what its owner's commitments need; call
 * it again when the history has changed. Redemptions take nothing: the chain settles no fill of a resolved market. Throws ChainUnavailable.
 */
export async function coverCheck(plan: Plan, parts: CoverParts): Promise<() => void> {
  const takings = takingsOf(plan, parts);
  if (takings.length === 0) return () => undefined;
  const cover = await readCover(plan, takings, parts);
  return () => {
    const commitments = [...parts.commitments(plan.owner)].filter(({ fill }) => fill === undefined || !cover.ended.has(fill));
    for (const taking of takings) refuseTaking(taking, cover, commitments);
  };
}

function takingsOf(plan: Plan, { chain: { contracts }, markets }: CoverParts): readonly Taking[] {
  return plan.goals.flatMap((goal, i): Taking[] => {
    switch (goal.kind) {
      case 'approval': return goal.approved ? [] : [{ kind: 'approval' }];
      case 'allowance': return goal.spender === contracts.settlement ? [{ kind: 'allowance', left: BigInt(goal.value) }] : [{ kind: 'permit' }];
      case 'split': return [{ kind: 'collateral', amount: BigInt(goal.amount) }];
      case 'merge': {
        const { tokens } = markets.get(goal.marketId) ?? {};
        if (tokens === undefined) throw new Error(`${goal.marketId} is not a market: check the targets first`);
        return [{ kind: 'shares', marketId: goal.marketId, tokens, amount: BigInt(goal.amount) }];
      }
      case 'proposal': return [{ kind: 'permit' }, { kind: 'collateral', amount: BigInt(String(plan.parts[i]?.message['bond'] ?? 0)) }];
      case 'redemption':
      case 'resolution': return [];
    }
  });
}

/** In one call, so that balances and fills are of one block. */
async function readCover({ owner }: Plan, takings: readonly Taking[], { chain, reads, commitments }: CoverParts): Promise<Cover> {
  const { collateral, conditionalTokens, settlement } = chain.contracts;
  const tokens = takings.flatMap((taking) => taking.kind === 'shares' ? taking.tokens : []);
  const calls: ContractCall[] = [
    { abi: 'collateral', to: collateral, method: 'balanceOf', args: [owner] },
    { abi: 'collateral', to: collateral, method: 'allowance', args: [owner, settlement] },
    ...tokens.map((token): ContractCall => ({ abi: 'conditionalTokens', to: conditionalTokens, method: 'balanceOf', args: [owner, token] })),
  ];
  const fills = [...commitments(owner)].flatMap(({ fill }) => fill ?? []).slice(0, ASKED_FILLS);
  const ends = fills.map((fill): ContractCall => ({ abi: 'settlement', to: settlement, method: 'isSettled', args: [fill] }));
  const results = await reads.views([...calls, ...ends], 'latest');
  const amounts = results.slice(0, calls.length);
  if (amounts.some((amount) => typeof amount !== 'bigint')) throw new ChainUnavailable(chain.chainId, 'the owner\'s balances cannot be read');
  const [balance, allowance, yes = 0n, no = 0n] = amounts as [bigint, bigint, bigint?, bigint?];
  return { collateral: balance, allowance, shares: [yes, no], ended: new Set(fills.filter((_, i) => results[calls.length + i] === true)) };
}

/** Throws RequestError `relay_cover_needed`. What no commitment needs may be taken, and so may what is not there already. */
function refuseTaking(taking: Taking, cover: Cover, commitments: readonly Commitment[]): void {
  const buys = commitments.filter(({ side }) => side === BUY);
  const cost = sum(buys, ({ cost: each }) => each);
  switch (taking.kind) {
    case 'approval': return refuseIf(true, 'the approval of the settlement contract', commitments.filter(({ side }) => side === SELL));
    case 'allowance': {
      const { left } = taking;
      return refuseIf(left < cover.allowance && left < cost, `an allowance of ${cost}, and ${left} would be left`, buys);
    }
    case 'permit':
      return refuseIf(cover.allowance < cost, `an allowance of ${cost} by a permit with the nonce that this would use up; sign a permit for the settlement contract first`, buys);
    case 'collateral': return refuseLess({ what: 'of the collateral', needed: cost, left: cover.collateral - taking.amount }, buys);
    case 'shares':
      for (const outcome of [0, 1] as const) {
        const sells = sellsOf(commitments, taking.marketId, outcome);
        const what = `${outcome === 0 ? 'YES' : 'NO'} shares of market ${taking.marketId}`;
        refuseLess({ what, needed: sum(sells, ({ size }) => size), left: cover.shares[outcome] - taking.amount }, sells);
      }
  }
}

function sellsOf(commitments: readonly Commitment[], marketId: string, outcome: MarketOutcome): readonly Commitment[] {
  return commitments.filter((each) => each.side === SELL && each.marketId === marketId && each.outcome === outcome);
}

function refuseLess({ what, needed, left }: { what: string; needed: bigint; left: bigint }, concerned: readonly Commitment[]): void {
  refuseIf(left < needed, `${needed} ${what}, and ${left > 0n ? left : 0n} would be left`, concerned);
}

/** Orders that an error names; the others are counted. */
const NAMED = 5;

function refuseIf(isTooMuch: boolean, needed: string, concerned: readonly Commitment[]): void {
  if (!isTooMuch || concerned.length === 0) return;
  const hashes = [...new Set(concerned.map(({ orderHash }) => orderHash))];
  const rest = hashes.length > NAMED ? ` and ${hashes.length - NAMED} more` : '';
  throw new RequestError('relay_cover_needed', `they need ${needed}; orders ${hashes.slice(0, NAMED).join(', ')}${rest}`);
}

function sum(commitments: readonly Commitment[], amountOf: (commitment: Commitment) => bigint): bigint {
  return commitments.reduce((total, each) => total + amountOf(each), 0n);
}
