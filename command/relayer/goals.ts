/**
 * The state of the chain that a request asks for: whether it is so, and whether it has become so, whoever brought it
 * about.
 */
import type { Contracts } from '../chain/chain.js';
import { decodeLog, topicsOf, type ChainLog, type ContractCall } from '../chain/abi.js';
import type { BlockLog, BlockTag, ChainReads } from '../chain/chain-reads.js';

/** Plain JSON, since the lane's outbox keeps it: amounts and token ids are decimal strings. */
export type Goal
  = | { readonly kind: 'approval'; readonly owner: string; readonly operator: string; readonly approved: boolean }
    | { readonly kind: 'allowance'; readonly owner: string; readonly spender: string; readonly value: string }
    | { readonly kind: 'redemption'; readonly owner: string; readonly marketId: string; readonly tokens: readonly string[] }
    | { readonly kind: 'split' | 'merge'; readonly owner: string; readonly marketId: string; readonly amount: string }
    | { readonly kind: 'proposal'; readonly marketId: string; readonly proposer: string; readonly outcome: boolean }
    | { readonly kind: 'resolution'; readonly marketId: string; readonly winningOutcome: 0 | 1 };

export interface GoalParts {
  readonly contracts: Contracts;
  readonly reads: Pick<ChainReads, 'views' | 'logs'>;
}

/**
 * Whether the chain already has the state that was asked for, so that nothing needs to be sent. Never true of
 * redemptions, splits and merges.
 */
export async function isReached(goal: Goal, parts: GoalParts, block: BlockTag = 'latest'): Promise<boolean> {
  const results = await parts.reads.views(stateCalls(goal, parts.contracts), block);
  switch (goal.kind) {
    case 'approval': return results[0] === goal.approved;
    case 'allowance': return results[0] === BigInt(goal.value);
    case 'proposal': return isProposed(goal, results);
    case 'resolution': return isResolvedTo(goal.winningOutcome, [results[0], results[1]]);
    case 'redemption':
    case 'split':
    case 'merge': return false;
  }
}

/** How much of the goal's shares its owner has; undefined for goals that are not redemptions. */
export async function sharesToRedeem(goal: Goal, parts: GoalParts, block: BlockTag = 'latest'): Promise<readonly bigint[] | undefined> {
  if (goal.kind !== 'redemption') return undefined;
  return (await parts.reads.views(stateCalls(goal, parts.contracts), block)).map((balance) => balance as bigint ?? 0n);
}

export interface GoalCheck extends GoalParts {
  /** In which the owner's event may be, both inclusive. */
  readonly blocks: { readonly from: number; readonly to: number };
  /** Whether the owner's event in this block may have reached the goal, and not have come before it was asked for. */
  readonly counts: (block: number) => Promise<boolean>;
  /** Whose state counts: that of the last of these blocks, or the newest. */
  readonly stateAt: BlockTag;
}

/** Whether the goal is reached in that state, by whichever transaction. Throws ChainUnavailable. */
export async function wasReached(goal: Goal, check: GoalCheck): Promise<boolean> {
  switch (goal.kind) {
    case 'approval':
    case 'allowance':
    case 'proposal':
    case 'resolution': return isReached(goal, check, check.stateAt);
    case 'redemption': {
      const left = await sharesToRedeem(goal, check, check.stateAt) ?? [];
      if (left.some((shares) => shares > 0n)) return false;
      return await oneCounts(check, (await eventsOf(goal, check)).filter((log) => isRedemptionOf(goal, log)));
    }
    case 'split':
    case 'merge': {
      const event = goal.kind === 'split' ? 'PositionSplit' : 'PositionsMerge';
      const events = await eventsOf(goal, check);
      return await oneCounts(check, events.filter((log) => decodeLog('conditionalTokens', event, log)?.['amount'] === BigInt(goal.amount)));
    }
  }
}

async function oneCounts({ counts }: GoalCheck, events: readonly BlockLog[]): Promise<boolean> {
  for (const block of new Set(events.map(({ blockNumber }) => Number(blockNumber)))) {
    if (await counts(block)) return true;
  }
  return false;
}

/**
 * Which of a batch's goals its own transaction has reached, by the PayoutRedemption events in its receipt: each event
 * serves one goal.
 */
export function redeemedIn(logs: readonly ChainLog[], goals: readonly Goal[], { conditionalTokens }: Pick<Contracts, 'conditionalTokens'>): readonly boolean[] {
  const own = logs.filter(({ address }) => address.toLowerCase() === conditionalTokens);
  return goals.map((goal) => {
    const at = own.findIndex((log) => goal.kind === 'redemption' && isRedemptionOf(goal, log));
    if (at >= 0) own.splice(at, 1);
    return at >= 0;
  });
}

type Redemption = Extract<Goal, { kind: 'redemption' }>;

function isRedemptionOf({ owner, marketId, tokens }: Redemption, log: ChainLog): boolean {
  const args = decodeLog('conditionalTokens', 'PayoutRedemption', log);
  if (args === undefined) return false;
  const {
    redeemer, conditionId, indexSets,
  } = args as { redeemer: string; conditionId: string; indexSets: ArrayLike<bigint> };
  return redeemer.toLowerCase() === owner && conditionId.toLowerCase() === marketId
    && indexSets.length === tokens.length;
}

function stateCalls(goal: Goal, { conditionalTokens, collateral, oracleResolver }: Contracts): ContractCall[] {
  const tokens = (method: string, ...args: unknown[]): ContractCall => ({ abi: 'conditionalTokens', to: conditionalTokens, method, args });
  switch (goal.kind) {
    case 'approval': return [tokens('isApprovedForAll', goal.owner, goal.operator)];
    case 'allowance': return [{ abi: 'collateral', to: collateral, method: 'allowance', args: [goal.owner, goal.spender] }];
    case 'redemption': return goal.tokens.map((token) => tokens('balanceOf', goal.owner, token));
    case 'split':
    case 'merge': return [];
    case 'proposal':
      return [
        tokens('payoutNumerators', goal.marketId, 0), tokens('payoutNumerators', goal.marketId, 1),
        { abi: 'oracleResolver', to: oracleResolver, method: 'proposalOf', args: [goal.marketId] },
      ];
    case 'resolution': return [tokens('payoutNumerators', goal.marketId, 0), tokens('payoutNumerators', goal.marketId, 1)];
  }
}

/** A proposal that has resolved the market stays on the contract. */
function isProposed({ proposer, outcome }: Extract<Goal, { kind: 'proposal' }>, [, , found]: readonly unknown[]): boolean {
  const proposal = found as { assertionId: string; proposer: string; outcome: boolean } | undefined;
  if (proposal === undefined || BigInt(proposal.assertionId) === 0n) return false;
  return proposal.proposer.toLowerCase() === proposer && proposal.outcome === outcome;
}

function isResolvedTo(outcome: 0 | 1, payouts: readonly unknown[]): boolean {
  const [won = 0n, lost = 0n] = (outcome === 0 ? payouts : [...payouts].reverse()) as (bigint | undefined)[];
  return won > 0n && lost === 0n;
}

function eventsOf(goal: Exclude<Goal, { kind: 'approval' | 'allowance' | 'proposal' | 'resolution' }>, { contracts, reads, blocks }: GoalCheck) {
  const { owner, marketId, kind } = goal;
  const topics = kind === 'redemption'
    ? topicsOf('conditionalTokens', 'PayoutRedemption', [owner, contracts.collateral])
    : topicsOf('conditionalTokens', kind === 'split' ? 'PositionSplit' : 'PositionsMerge', [owner, null, null, marketId]);
  return reads.logs({ address: contracts.conditionalTokens, topics, ...blocks });
}
