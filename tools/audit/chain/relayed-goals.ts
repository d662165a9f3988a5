/** What a relayed transaction asks for, by its calldata, and the events that tell that it came about, whoever sent them. */
import { decodeCall, decodeLog, topicsOf, type AbiName, type ChainLog } from '../../../command/chain/abi.js';
import type { Contracts } from '../../../command/chain/chain.js';
import type { Goal } from '../../../command/relayer/goals.js';
import type { RelayAction } from '../../../engine/records/fields.js';

/** A signed message within a transaction. */
export interface SentGoal {
  readonly goal: Goal;
  /** Lower-case hex. */
  readonly signer: string;
  /** Of its signature, 64 hex digits: no other message has the same. */
  readonly r: string;
}

export interface GoalLookups {
  readonly contracts: Contracts;
  /** ERC-1155 ids of YES and NO; undefined for a market that the history does not have. */
  readonly tokensOf: (marketId: string) => readonly [bigint, bigint] | undefined;
  /** The market of a market's contract; undefined for another address. Throws CannotAudit. */
  readonly marketIdOf: (address: string) => Promise<string | undefined>;
}

const KINDS: Readonly<Record<RelayAction, Goal['kind']>> = {
  'ctf-approval': 'approval', 'usdc-permit': 'allowance', 'ctf-redemption': 'redemption', 'batch-ctf-redemption': 'redemption',
  'propose-resolution': 'proposal', 'settle-market': 'resolution', 'ctf-split': 'split', 'ctf-merge': 'merge',
};

/** The goals of a transaction in their order; undefined when it is no transaction of this action by this signer. */
export async function goalsOf(
  { to, input }: { readonly to: string; readonly input: string }, { action, owner }: Pick<TraceParams, 'action' | 'owner'>, lookups: GoalLookups,
): Promise<readonly SentGoal[] | undefined> {
  const batch = to === lookups.contracts.multicall ? decodeCall('multicall', input)?.args['calls'] : undefined;
  const calls = batch as readonly { target: string; callData: string }[] | undefined ?? [{ target: to, callData: input }];
  const goals = await Promise.all(calls.map(({ target, callData }) => goalOf(target.toLowerCase(), callData, lookups)));
  const own = goals.flatMap((each) => each?.signer === owner && each.goal.kind === KINDS[action] ? [each] : []);
  return own.length === calls.length && own.length > 0 ? own : undefined;
}

async function goalOf(to: string, data: string, lookups: GoalLookups): Promise<SentGoal | undefined> {
  const { contracts } = lookups;
  const abi = (['conditionalTokens', 'collateral', 'oracleResolver'] as const).find((name) => contracts[name] === to);
  const call = abi === undefined ? undefined : decodeCall(abi, data);
  if (call === undefined) return undefined;
  const { method, args } = call;
  const text = (name: string): string => String(args[name]).toLowerCase();
  const sent = (signer: string, goal: Goal): SentGoal => ({ goal, signer: text(signer), r: text('r').slice(2) });
  const owner = text('owner');
  const marketId = text('conditionId');
  switch (method) {
    case 'setApprovalForAllWithSig': return sent('owner', { kind: 'approval', owner, operator: text('operator'), approved: args['approved'] === true });
    case 'permit': return sent('owner', { kind: 'allowance', owner, spender: text('spender'), value: text('value') });
    case 'redeemPositionsWithSig': {
      const [yes, no] = lookups.tokensOf(marketId) ?? [];
      const tokens = [...args['indexSets'] as Iterable<bigint>].map((indexSet) => String(indexSet === 1n ? yes : no));
      return sent('owner', { kind: 'redemption', owner, marketId, tokens });
    }
    case 'splitPositionWithSig': return sent('owner', { kind: 'split', owner, marketId, amount: text('amount') });
    case 'mergePositionsWithSig': return sent('owner', { kind: 'merge', owner, marketId, amount: text('amount') });
    case 'proposeWithSig': {
      const id = await lookups.marketIdOf(text('market'));
      return id === undefined ? undefined : sent('proposer', { kind: 'proposal', marketId: id, proposer: text('proposer'), outcome: args['outcome'] === true });
    }
    case 'settleWithSig': {
      const id = await lookups.marketIdOf(text('market'));
      return id === undefined ? undefined : sent('settler', { kind: 'resolution', marketId: id, winningOutcome: Number(args['winningOutcome']) === 0 ? 0 : 1 });
    }
    default: return undefined;
  }
}

/** Events without which the state cannot have become as asked. */
export interface Trace {
  readonly address: string;
  readonly topics: readonly (string | null)[];
  readonly matches: (log: ChainLog) => boolean;
}

type Args = Readonly<Record<string, unknown>>;

interface TraceParams {
  readonly action: RelayAction;
  readonly owner: string;
  /** The market that is redeemed; undefined for other actions. */
  readonly claimed: string | undefined;
  /** What exactly was asked; undefined where no transaction tells. */
  readonly goal: Goal | undefined;
}

/** The events that bring what the request asks for. Where no transaction tells what that is exactly, all of its owner's that may have. */
export function traceOf({ action, owner, claimed, goal }: TraceParams, contracts: Contracts): Trace {
  const { collateral, settlement } = contracts;
  const trace = (abi: AbiName & keyof Contracts, event: string, indexed: readonly unknown[], isRight: (args: Args) => boolean): Trace => {
    const address = contracts[abi];
    const topics = topicsOf(abi, event, indexed);
    return {
      address, topics,
      matches: (log) => {
        if (log.address.toLowerCase() !== address || topics.some((topic, i) => topic !== null && topic !== log.topics[i])) return false;
        const args = decodeLog(abi, event, log);
        return args !== undefined && isRight(args);
      },
    };
  };
  const same = (value: unknown, expected: string | undefined): boolean => expected === undefined || String(value).toLowerCase() === expected;
  switch (action) {
    case 'ctf-approval': return trace('conditionalTokens', 'ApprovalForAll', [owner, settlement, null], ({ approved }) => (
      goal?.kind !== 'approval' || approved === goal.approved));
    case 'usdc-permit': return trace('collateral', 'Approval', [owner, goal?.kind === 'allowance' ? goal.spender : null, null], ({ value }) => (
      goal?.kind !== 'allowance' || same(value, goal.value)));
    case 'ctf-redemption':
    case 'batch-ctf-redemption': return trace('conditionalTokens', 'PayoutRedemption', [owner, collateral], ({ conditionId }) => same(conditionId, claimed));
    case 'ctf-split': return trace('conditionalTokens', 'PositionSplit', [owner], sets);
    case 'ctf-merge': return trace('conditionalTokens', 'PositionsMerge', [owner], sets);
    case 'propose-resolution': return trace('oracleResolver', 'ResolutionProposed', [null, null, owner], ({ marketId, outcome }) => (
      goal?.kind !== 'proposal' || (same(marketId, goal.marketId) && outcome === goal.outcome)));
    case 'settle-market': return trace('conditionalTokens', 'ConditionResolution', [], ({ conditionId }) => (
      goal?.kind !== 'resolution' || same(conditionId, goal.marketId)));
  }

  function sets({ conditionId, amount }: Args): boolean {
    return (goal?.kind !== 'split' && goal?.kind !== 'merge') || (same(conditionId, goal.marketId) && same(amount, goal.amount));
  }
}

/** Whether the transaction's own events say that the market was resolved. It succeeds also when it finds the proposal untruthful. */
export function resolvesIn(logs: readonly ChainLog[], goal: Goal, contracts: Contracts): boolean {
  const trace = traceOf({ action: 'settle-market', owner: '', claimed: undefined, goal }, contracts);
  return logs.some(trace.matches);
}
