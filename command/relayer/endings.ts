/**
 * Judges how relayed requests have ended: by the state of the chain, whoever brought it about, and for a batch by each
 * item's own event.
 */
import type { RequestStatus } from '../lane/requests.js';
import { wasReached, redeemedIn, type Goal, type GoalParts } from './goals.js';
import type { ChainReads } from '../chain/chain-reads.js';
import type { RelayNote } from './note.js';
import { nonceSpaceOf } from './signatures.js';

export interface RelayResult {
  readonly succeeded: boolean;
  readonly reason?: string;
}

export interface RelayEnding {
  /** Undefined when no transaction was sent. */
  readonly txHash: string | undefined;
  /** One per signed message of the request. */
  readonly results: readonly RelayResult[];
}

export interface EndingParts extends GoalParts {
  readonly reads: Pick<ChainReads, 'views' | 'logs' | 'receiptLogs' | 'funds'>;
  /** A block is final when so many blocks follow it. */
  readonly confirmations: number;
  /** The lane's address. */
  readonly relayer: string;
}

/** The lane has refused the request, or its transaction is final or lost. */
export type EndedStatus = Extract<RequestStatus, { kind: 'refused' | 'ended' }>;

const MAX_REASON = 200;
/** Nodes answer eth_getLogs for so many blocks at least. */
const MAX_BLOCKS = 1_000;
/** Most nodes keep the states of 128 blocks. */
const KEPT_STATES = 100;

/** Throws ChainUnavailable: then ask again. */
export async function judge(
  note: RelayNote, status: EndedStatus, sent: readonly string[], parts: EndingParts,
): Promise<RelayEnding> {
  const { action, goals, nonces, fromBlock } = note;
  const lastSent = sent.at(-1);
  if (status.kind === 'refused') return { txHash: lastSent, results: goals.map(() => failed(status.reason)) };
  const { ending } = status;
  const { block: newest } = await parts.reads.funds(parts.relayer);
  const to = ending.kind === 'mined' ? ending.block : newest;
  // After a longer stop no node may have the state of that block any more, and a request must not wait for ever.
  const oldestState = newest - KEPT_STATES;
  const stateAt = to < oldestState ? 'latest' : to;
  const txHash = ending.kind === 'mined' ? ending.txHash : lastSent;
  const reached = ending.kind === 'mined' && ending.succeeded ? await reachedBy(ending.txHash, { action, goals }, parts) : goals.map(() => false);
  const why = ending.kind === 'lost'
    ? 'another transaction used the relayer\'s nonce'
    : ending.succeeded ? 'the transaction has not brought the state that was asked for' : 'the transaction reverted';
  // Another's transaction with the same message may have been moved below the block at which the request was taken, by
  // a reorganisation.
  const blocks = { from: Math.max(Math.min(fromBlock, to) - parts.confirmations, to - MAX_BLOCKS, 0), to };
  const results = await Promise.all(goals.map(async (goal, i) => {
    const nonce = nonces[i]?.[1];
    // The owner may have moved the same amount by another transaction, and the message before in the very block at
    // which this one was taken. A redemption is also judged by what is left.
    const needsNonce = nonce !== undefined && (goal.kind === 'split' || goal.kind === 'merge');
    const counts = async (block: number) => block > oldestState && (needsNonce || block < fromBlock)
      ? usesUp({ goal, nonce, block }, parts)
      : block >= fromBlock;
    return reached[i] === true || await wasReached(goal, { ...parts, blocks, stateAt, counts })
      ? { succeeded: true }
      : failed(why);
  }));
  return { txHash, results };
}

interface UsedUp {
  readonly goal: Goal;
  /** In decimal digits. */
  readonly nonce: string | undefined;
  readonly block: number;
}

/** Whether the nonce of the goal's message was used up in this block. */
async function usesUp({ goal, nonce, block }: UsedUp, { contracts, reads }: EndingParts): Promise<boolean> {
  if (nonce === undefined || block === 0 || (goal.kind !== 'split' && goal.kind !== 'merge' && goal.kind !== 'redemption')) return false;
  const { call } = nonceSpaceOf({ name: `ctf-${goal.kind}`, nonceOf: goal.kind === 'redemption' ? goal.marketId : undefined }, goal.owner, contracts);
  const [[before], [after]] = await Promise.all([reads.views([call], block - 1), reads.views([call], block)]);
  return typeof before === 'bigint' && typeof after === 'bigint' && before <= BigInt(nonce) && after > BigInt(nonce);
}

const LEFT_BEHIND = 'it was not sent: the relayer stopped before; it can be sent again';

/**
 * A request that was never sent: for this reason, or since the process that had taken it ended before it asked the
 * lane.
 */
export function neverSent(goals: number, reason = LEFT_BEHIND): RelayEnding {
  return { txHash: undefined, results: Array.from({ length: Math.max(1, goals) }, () => failed(reason)) };
}

/** Which goals the request's own successful transaction has surely reached. The others are judged by the state. */
async function reachedBy(txHash: string, { action, goals }: { action: RelayNote['action']; goals: readonly Goal[] }, parts: EndingParts) {
  switch (action) {
    case 'batch-ctf-redemption': return redeemedIn(await parts.reads.receiptLogs(txHash) ?? [], goals, parts.contracts);
    // It also succeeds when it finds the proposal untruthful, and then the market is not resolved.
    case 'settle-market': return goals.map(() => false);
    default: return goals.map(() => true);
  }
}

function failed(reason: string): RelayResult {
  return { succeeded: false, reason: reason.length <= MAX_REASON ? reason : `${reason.slice(0, MAX_REASON - 1)}…` };
}
