/**
 * Refuses a request that would take away what its owner's open orders and unsettled fills need: otherwise a match would
 * be a free option. It does not stop owners who pay for gas themselves; docs/security.md says what does.
 */
import { RequestError } from '../../engine/records/errors.js';
import { BUY, SELL, type MarketOutcome } from '../../engine/records/fields.js';
import type { Commitment } from '../../engine/run/view.js';
import type { ContractCall } from '../chain/abi.js';
import { ChainUnavailable, type Chain } from '../chain/chain.js';
import type { ChainReads } from '../chain/chain-reads.js';
import type { RelayMarkets } from './markets.js';
import type { RelayNote } from './note.js';
import type { Plan } from './plan.js';
import { nonceSpaceOf } from './signatures.js';

/** What a request takes away from its owner, if anything. Amounts in units of 1e-6. */
type Deduction
  /** The settlement contract's right to move the owner's shares. */
  = | { readonly kind: 'approval' }
    /** The settlement contract's allowance, but for this much, and the nonce of the stablecoin's next permit. */
    | { readonly kind: 'allowance'; readonly left: bigint }
    /** The nonce of the stablecoin's next permit, which an order's permit may need. */
    | { readonly kind: 'permit' }
    | { readonly kind: 'collateral'; readonly amount: bigint }
    | { readonly kind: 'shares'; readonly marketId: string; readonly tokens: readonly [bigint, bigint]; readonly amount: bigint };

/**
 * What an owner has in the newest block; `shares` are the YES and the NO shares of the market that the request is
 * about.
 */
interface Balances {
  /** Less what transactions will take that are on their way to a block. */
  readonly collateral: bigint;
  readonly allowance: bigint;
  readonly shares: readonly [bigint, bigint];
  /**
   * Fills that the contract has settled or failed in that block, so that the balances say so, though the block is not
   * final.
   */
  readonly ended: ReadonlySet<number>;
}

/** Unsettled fills about which the chain is asked; further ones count. */
const MAX_FILLS_READ = 500;

export interface ReservedBalanceParts {
  readonly chain: Pick<Chain, 'chainId' | 'contracts'>;
  readonly markets: RelayMarkets;
  readonly reads: Pick<ChainReads, 'views'>;
  /** By the history as it is now. */
  readonly commitments: (owner: string) => Iterable<Commitment>;
  /** The owner's requests that were taken before this one and have not ended. */
  readonly inFlight: () => readonly Pick<RelayNote, 'goals' | 'nonces' | 'collateral'>[];
}

/**
 * Throws RequestError `relay_cover_needed` when the request would take away what its owner's commitments need, by the
 * newest block and the history of this moment. Redemptions take nothing: the chain settles no fill of a resolved
 * market. Throws ChainUnavailable.
 */
export async function refuseReserved(plan: Plan, parts: ReservedBalanceParts): Promise<void> {
  const deductions = deductionsOf(plan, parts);
  if (deductions.length === 0) return;
  const balances = await readBalances(plan, deductions, parts);
  const commitments = [...parts.commitments(plan.owner)]
    .filter(({ fill }) => fill === undefined || !balances.ended.has(fill));
  for (const deduction of deductions) refuseDeduction(deduction, balances, commitments);
}

/** What the plan takes of its owner's collateral, in units of 1e-6. */
export function collateralDeducted({ goals, bond }: Pick<Plan, 'goals' | 'bond'>): bigint {
  return goals.reduce((total, goal) => total + (goal.kind === 'split' ? BigInt(goal.amount) : goal.kind === 'proposal' ? bond?.amount ?? 0n : 0n), 0n);
}

function deductionsOf(plan: Plan, { chain: { contracts }, markets }: ReservedBalanceParts): readonly Deduction[] {
  return plan.goals.flatMap((goal): Deduction[] => {
    switch (goal.kind) {
      case 'approval': return goal.approved ? [] : [{ kind: 'approval' }];
      case 'allowance': return goal.spender === contracts.settlement ? [{ kind: 'allowance', left: BigInt(goal.value) }] : [{ kind: 'permit' }];
      case 'split': return [{ kind: 'collateral', amount: BigInt(goal.amount) }];
      case 'merge': {
        const { tokens } = markets.get(goal.marketId) ?? {};
        if (tokens === undefined) throw new Error(`${goal.marketId} is not a market: check the targets first`);
        return [{ kind: 'shares', marketId: goal.marketId, tokens, amount: BigInt(goal.amount) }];
      }
      case 'proposal': return [...plan.bond?.isPermitted === true ? [{ kind: 'permit' } as const] : [], { kind: 'collateral', amount: plan.bond?.amount ?? 0n }];
      case 'redemption':
      case 'resolution': return [];
    }
  });
}

/** In one call, so that balances, fills and nonces are of one block. */
async function readBalances(
  { owner }: Plan, deductions: readonly Deduction[], parts: ReservedBalanceParts,
): Promise<Balances> {
  const { chain, reads, commitments, inFlight } = parts;
  const { collateral, conditionalTokens, settlement } = chain.contracts;
  const tokens = deductions.flatMap((deduction) => deduction.kind === 'shares' ? deduction.tokens : []);
  const amounts: ContractCall[] = [
    { abi: 'collateral', to: collateral, method: 'balanceOf', args: [owner] },
    { abi: 'collateral', to: collateral, method: 'allowance', args: [owner, settlement] },
    ...tokens.map((token): ContractCall => ({ abi: 'conditionalTokens', to: conditionalTokens, method: 'balanceOf', args: [owner, token] })),
  ];
  const before = inFlight().filter((note) => note.collateral !== undefined);
  const nonces = before.map((note) => nonceCall(note, owner, chain));
  const fills = [...commitments(owner)].flatMap(({ fill }) => fill ?? []).slice(0, MAX_FILLS_READ);
  const ends = fills.map((fill): ContractCall => ({ abi: 'settlement', to: settlement, method: 'isSettled', args: [fill] }));
  const results = await reads.views([...amounts, ...nonces, ...ends], 'latest');
  const [read, used, ended] = [
    results.slice(0, amounts.length), results.slice(amounts.length, amounts.length + nonces.length),
    results.slice(amounts.length + nonces.length),
  ];
  if (read.some((amount) => typeof amount !== 'bigint')) throw new ChainUnavailable(chain.chainId, 'the owner\'s balances cannot be read');
  const [balance, allowance, yes = 0n, no = 0n] = read as [bigint, bigint, bigint?, bigint?];
  const onItsWay = before.filter(({ nonces: [nonce] }, i) => !(typeof used[i] === 'bigint' && nonce !== undefined && used[i] > BigInt(nonce[1])));
  return {
    collateral: balance - onItsWay.reduce((total, note) => total + BigInt(note.collateral ?? 0), 0n), allowance,
    shares: [yes, no],
    ended: new Set(fills.filter((_, i) => ended[i] === true)),
  };
}

/**
 * Asks for the next nonce of the owner's message: once it is above the message's own, the newest block has the
 * transaction.
 */
function nonceCall({ goals: [goal] }: Pick<RelayNote, 'goals'>, owner: string, { contracts }: ReservedBalanceParts['chain']): ContractCall {
  const message = goal?.kind === 'proposal' ? { name: 'propose-resolution', nonceOf: goal.marketId } as const : { name: 'ctf-split', nonceOf: undefined } as const;
  return nonceSpaceOf(message, owner, contracts).call;
}

/**
 * Throws RequestError `relay_cover_needed`. What no commitment needs may be taken, and so may what is not there
 * already.
 */
function refuseDeduction(deduction: Deduction, balances: Balances, commitments: readonly Commitment[]): void {
  const buys = commitments.filter(({ side }) => side === BUY);
  const cost = sum(buys, ({ cost: each }) => each);
  switch (deduction.kind) {
    case 'approval': return refuseIf(true, 'the approval of the settlement contract', commitments.filter(({ side }) => side === SELL));
    case 'allowance': {
      const { left } = deduction;
      // Also where the present allowance is lower: the permits of orders, which may raise it, have the nonce that this
      // would use up.
      return refuseIf(left < cost, `an allowance of ${cost}, and ${left} would be left`, buys);
    }
    case 'permit':
      return refuseIf(balances.allowance < cost, `an allowance of ${cost} by a permit with the nonce that this would use up; sign a permit for the settlement contract first`, buys);
    case 'collateral': return refuseLess({ what: 'of the collateral', needed: cost, left: balances.collateral - deduction.amount }, buys);
    case 'shares':
      for (const outcome of [0, 1] as const) {
        const sells = sellsOf(commitments, deduction.marketId, outcome);
        const what = `${outcome === 0 ? 'YES' : 'NO'} shares of market ${deduction.marketId}`;
        refuseLess(
          { what, needed: sum(sells, ({ size }) => size), left: balances.shares[outcome] - deduction.amount }, sells,
        );
      }
  }
}

function sellsOf(commitments: readonly Commitment[], marketId: string, outcome: MarketOutcome): readonly Commitment[] {
  return commitments.filter((each) => each.side === SELL && each.marketId === marketId && each.outcome === outcome);
}

function refuseLess(
  { what, needed, left }: { what: string; needed: bigint; left: bigint }, concerned: readonly Commitment[],
): void {
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
