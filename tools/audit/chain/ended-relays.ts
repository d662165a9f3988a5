/**
 * Compares how relayed requests ended by the history (EndRelay) with the chain. A result is judged as the relayer judges it
 * (command/relayer/endings.ts): by the state, whoever brought it about. What a node cannot tell any more is no difference.
 */
import type { BlockLog, ChainReads } from '../../../command/chain/chain-reads.js';
import type { ChainLog } from '../../../command/chain/abi.js';
import type { Chain } from '../../../command/chain/chain.js';
import { isReached, redeemedIn, sharesToRedeem, type Goal } from '../../../command/relayer/goals.js';
import type { RelayAction } from '../../../engine/records/fields.js';
import type { Difference } from '../difference.js';
import { goalsOf, resolvesIn, traceOf, type GoalLookups, type SentGoal, type Trace } from './relayed-goals.js';

export interface RecordedRelay {
  readonly kind: 'relay';
  readonly position: number;
  readonly requestId: string;
  readonly action: RelayAction;
  readonly owner: string;
  /** The markets of the redemptions; empty for other actions. */
  readonly claimed: readonly string[];
  /** The transaction that ended it by the history; null when none was sent. */
  readonly txHash: string | null;
  /** The transactions that the history says were sent for it. */
  readonly submitted: readonly string[];
  readonly results: readonly { readonly succeeded: boolean; readonly reason: string | null }[];
  /** The first block that the history did not have yet when the request was taken, and the last one that it had when it ended. */
  readonly fromBlock: number;
  readonly upTo: number;
}

export interface MinedTransaction {
  readonly hash: string;
  readonly block: number;
  readonly succeeded: boolean;
  readonly logs: readonly ChainLog[];
  readonly to: string;
  readonly input: string;
}

/** All throw CannotAudit when the chain cannot be read. */
export interface RelayReads extends Pick<GoalLookups, 'tokensOf' | 'marketIdOf'> {
  /** Undefined for a transaction that is in no block of the chain, or that the node has forgotten. */
  mined(hash: string): Promise<MinedTransaction | undefined>;
  /** Such logs in the blocks, both inclusive; of a range beyond the chain's end, in what there is. */
  traces(trace: Trace, blocks: { readonly from: number; readonly to: number }): AsyncIterable<BlockLog>;
  /** What the state of a block says; undefined where the node does not have it any more. */
  state<T>(ask: (reads: Pick<ChainReads, 'views' | 'logs'>) => Promise<T>): Promise<T | undefined>;
}

/** Each time they are done anew: their results rest on events. */
const EVENTFUL: readonly RelayAction[] = ['ctf-redemption', 'batch-ctf-redemption', 'ctf-split', 'ctf-merge'];

/** The history may be so many blocks behind the chain whose newest state a result was judged by. */
const LATE_BLOCKS = 10_000;

/** The first result of a request that the chain contradicts; undefined when there is none. Throws CannotAudit. */
export async function wrongEnding(chain: Chain, ended: RecordedRelay, reads: RelayReads): Promise<Difference | undefined> {
  const own = await ownTransaction(ended, chain, reads);
  const sent = own === undefined ? undefined : await goalsOf(own, ended, { ...reads, contracts: chain.contracts });
  const reached = own?.succeeded === true && sent !== undefined ? reachedBy(own, ended, sent, chain) : [];
  for (let item = 0; item < Math.max(1, ended.claimed.length); item++) {
    const result = ended.results[Math.min(item, ended.results.length - 1)];
    const check: ResultCheck = { chain, ended, own, sent: sent?.[item], item, reads };
    const byItself = reached[item] === true;
    if (result?.succeeded === true) {
      if (!byItself && !await broughtElsewhere(check)) return falseSuccess(check);
    } else if (result !== undefined && (byItself || await isSoAllTheSame(check))) {
      return falseFailure(check, byItself, result.reason);
    }
  }
  return undefined;
}

/** One result: what is said, and the transaction that it rests on. */
interface ResultCheck {
  readonly chain: Chain;
  readonly ended: RecordedRelay;
  /** The request's own transaction, if one is in a block. */
  readonly own: MinedTransaction | undefined;
  /** What its own transaction asks for; undefined where there is none that asks for such a thing. */
  readonly sent: SentGoal | undefined;
  readonly item: number;
  readonly reads: RelayReads;
}

/** One from before the request was taken is another's. */
async function ownTransaction(
  { txHash, submitted, fromBlock }: RecordedRelay, { confirmations }: Chain, reads: RelayReads,
): Promise<MinedTransaction | undefined> {
  for (const hash of new Set([...txHash === null ? [] : [txHash], ...[...submitted].reverse()])) {
    const mined = await reads.mined(hash);
    if (mined !== undefined && mined.block >= fromBlock - confirmations) return mined;
  }
  return undefined;
}

/** What the request's own successful transaction has surely done, by item. */
function reachedBy({ logs }: MinedTransaction, { action }: RecordedRelay, sent: readonly SentGoal[], { contracts }: Chain): readonly boolean[] {
  const goals = sent.map(({ goal }) => goal);
  if (action === 'batch-ctf-redemption') return redeemedIn(logs, goals, contracts);
  return action === 'settle-market' ? goals.map((goal) => resolvesIn(logs, goal, contracts)) : goals.map(() => true);
}

/** Whether anybody's transaction can have brought the state that is said to have come about. */
async function broughtElsewhere({ chain, ended, own, sent, item, reads }: ResultCheck): Promise<boolean> {
  const { action, owner, claimed, fromBlock, upTo } = ended;
  const trace = traceOf({ action, owner, claimed: claimed[item], goal: sent?.goal }, chain.contracts);
  // What an event of the owner tells, and no later state, was told by the block of the request's own transaction.
  const to = own !== undefined && EVENTFUL.includes(action) ? own.block : upTo + chain.confirmations + LATE_BLOCKS;
  const blocks = { from: Math.max(chain.startBlock, fromBlock - 1 - chain.confirmations), to };
  for await (const log of reads.traces(trace, blocks)) {
    // Before the request was taken only a reorganisation can have brought the very message of the request.
    if (Number(log.blockNumber) >= fromBlock || sent === undefined || await carries(log, sent, reads)) return true;
  }
  // An allowance also shrinks to a value, by what its spender takes, without an event of its own.
  if (sent?.goal.kind !== 'allowance' || own === undefined) return false;
  return await isStateOf(sent.goal, chain, reads, [own.block]) ?? true;
}

/** Whether the state surely is as asked although the request's own transaction has not brought it. */
async function isSoAllTheSame({ chain, ended, own, sent, reads }: ResultCheck): Promise<boolean> {
  if (own === undefined || sent === undefined) return false;
  const { goal } = sent;
  // A result may have been judged by the state after the transaction, or by a later one.
  const blocks = [own.block, Math.max(own.block, ended.upTo)];
  switch (goal.kind) {
    case 'approval':
    case 'allowance':
    case 'proposal':
    case 'resolution': return await isStateOf(goal, chain, reads, blocks) ?? false;
    case 'redemption':
    case 'split':
    case 'merge': {
      const trace = traceOf({ action: ended.action, owner: ended.owner, claimed: goal.marketId, goal }, chain.contracts);
      const from = Math.max(chain.startBlock, ended.fromBlock - 1 - chain.confirmations);
      // The very message, which somebody else has sent. Other events of the owner may have been there before the request.
      for await (const log of reads.traces(trace, { from, to: own.block })) {
        if (log.transactionHash === own.hash || !await carries(log, sent, reads)) continue;
        return goal.kind !== 'redemption' || (await isStateOf(goal, chain, reads, blocks) ?? false);
      }
      return false;
    }
  }
}

/** Whether the event comes from a transaction with the very message. */
async function carries({ transactionHash }: BlockLog, { r }: SentGoal, reads: RelayReads): Promise<boolean> {
  return (await reads.mined(transactionHash))?.input.includes(r) === true;
}

/** Whether the state of all these blocks is as asked; undefined where the node does not have them any more. */
async function isStateOf(goal: Goal, { contracts }: Chain, reads: RelayReads, blocks: readonly number[]): Promise<boolean | undefined> {
  for (const block of new Set(blocks)) {
    const is = await reads.state(async (asked) => {
      const parts = { contracts, reads: asked };
      return goal.kind === 'redemption' ? (await sharesToRedeem(goal, parts, block) ?? []).every((left) => left === 0n) : await isReached(goal, parts, block);
    });
    if (is !== true) return is;
  }
  return true;
}

function placeOf({ chain: { chainId }, ended: { position, txHash }, own }: ResultCheck) {
  return { position, chainId, ...own === undefined ? {} : { block: own.block }, ...own === undefined && txHash === null ? {} : { txHash: own?.hash ?? txHash ?? '' } };
}

function aboutOf({ ended: { action, requestId, owner, claimed, position }, item }: ResultCheck): string {
  return `relayed request ${requestId} (${action} of ${owner}${claimed.length > 1 ? `, redemption ${item + 1}` : ''}), which ends at position ${position}`;
}

function falseSuccess(check: ResultCheck): Difference {
  const { chain: { chainId }, ended: { txHash }, own, sent } = check;
  const how = own === undefined
    ? txHash === null ? 'no transaction was sent' : `chain ${chainId} has no transaction ${txHash}`
    : own.succeeded ? `transaction ${own.hash} ${sent === undefined ? 'does something else' : 'has not brought it about'}` : `transaction ${own.hash} reverted`;
  return {
    check: 'endedRelays', place: placeOf(check), expected: false, found: true, what: `the history says that ${aboutOf(check)}, succeeded: ${how}, and nothing else on the chain has brought what it asks for`,
    means: 'Its owner was told that something had happened that has not: the record is forged, or the relayer misjudged.',
  };
}

function falseFailure(check: ResultCheck, byItself: boolean, reason: string | null): Difference {
  const { own } = check;
  return {
    check: 'endedRelays', place: placeOf(check), expected: true, found: { succeeded: false, reason },
    what: `the history says that ${aboutOf(check)}, failed, and ${byItself ? `transaction ${own?.hash ?? ''} has brought what it asks for` : 'the chain is as it asks all the same'}`,
    means: 'Its owner was told that nothing had happened, and may ask for it again: the record is forged, or the relayer misjudged.',
  };
}
