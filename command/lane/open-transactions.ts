/**
 * Decides what a lane does with its open transactions: a pure function of what is recorded and what the chain shows.
 */
import type { ReportLevel } from '../../engine/report.js';
import { backoffMs, type Backoff } from '../../engine/waiting.js';
import { replacementFees, type FeeLimits, type FeeMarket, type Fees } from './fees.js';
import type { Attempt, TransactionEnding, HeldRequest } from './requests.js';

export interface RecordedAttempt extends Attempt {
  readonly fees: Fees;
  /** Whether a node is known to have accepted it. */
  readonly broadcast: boolean;
}

/** One nonce with its attempts. Users of a lane never see it. */
export interface LaneTransaction {
  readonly nonce: number;
  /** Undefined for an empty transaction that fills a nonce gap. */
  readonly request: HeldRequest | undefined;
  /** At least one, the latest last. */
  readonly attempts: readonly RecordedAttempt[];
}

/** A block, and a time on the lane's clock in milliseconds: since when a condition holds. */
export interface LaneMoment {
  readonly block: number;
  readonly ms: number;
}

/** An open transaction. Times are on the lane's clock, in milliseconds. */
export interface OpenTransaction {
  readonly transaction: LaneTransaction;
  /** When the latest attempt is next broadcast. */
  readonly broadcastAtMs: number;
  /** Since when the latest attempt can be mined; undefined until this process knows that a node accepted it. */
  readonly waitingSince: LaneMoment | undefined;
  /** Since when its nonce is the next one on the chain; undefined while an earlier nonce is not mined. */
  readonly frontSince: LaneMoment | undefined;
  /** How many broadcasts in a row a node refused. */
  readonly refusals: number;
  /** Whether the node asked for higher fees. */
  readonly underpriced: boolean;
  /** Whether the fee limit allows no further replacement; an alert was reported. */
  readonly atLimit: boolean;
  /** The block that contained one of its attempts at the last look. */
  readonly minedIn: number | undefined;
  /** Since when its nonce is used, but no receipt of its attempts is found. */
  readonly unexplained: LaneMoment | undefined;
}

export interface Receipt {
  readonly txHash: string;
  readonly block: number;
  readonly succeeded: boolean;
}

/** Further answers about the key's transaction count, for cases in which one answer must not decide. */
export interface Proof {
  /** The count at the latest final block; undefined when no node has that block's state. */
  readonly finalCount: number | undefined;
  /** The count at the latest block, by each node that answers. */
  readonly nodeCounts: readonly number[];
}

/** What the chain shows at one time. */
export interface View extends FeeMarket {
  /** The latest block. */
  readonly head: number;
  /** The key's transaction count at the latest block: the next nonce that can be mined. */
  readonly count: number;
  /** Undefined when the count was not in doubt. */
  readonly proof: Proof | undefined;
  /** The existing receipts among `dueReceipts`, by transaction hash. */
  readonly receipts: ReadonlyMap<string, Receipt>;
}

export interface OpenTransactionPolicy {
  readonly confirmations: number;
  readonly limits: FeeLimits;
  /** An attempt that is not mined within this many blocks is replaced. */
  readonly bumpAfterBlocks: number;
  /** An attempt is not replaced before this time, since many blocks can come in a second. */
  readonly bumpAfterMs: number;
  /** How often an attempt that is not mined is broadcast again, in case nodes have dropped it. */
  readonly rebroadcastMs: number;
  /** A transaction whose nonce another one used is given up after this time and `confirmations` blocks. */
  readonly lostAfterMs: number;
  /** The pauses after refusals in a row. */
  readonly backoff: Backoff;
}

export type Action
  = | { readonly kind: 'broadcast'; readonly nonce: number }
    | { readonly kind: 'replace'; readonly nonce: number; readonly fees: Fees }
    | { readonly kind: 'over'; readonly nonce: number; readonly ending: TransactionEnding }
    | { readonly kind: 'report'; readonly level: ReportLevel; readonly text: string };

/** A node's answer to a broadcast. */
export type BroadcastAnswer = 'accepted' | 'nonce too low' | 'underpriced' | 'unfunded' | 'refused';

/**
 * The open transaction for one that was just recorded, or found at a start. It is broadcast at once, even if a node
 * already has it.
 */
export function opened(transaction: LaneTransaction, nowMs: number): OpenTransaction {
  return {
    transaction, broadcastAtMs: nowMs, waitingSince: undefined, frontSince: undefined, refusals: 0, underpriced: false,
    atLimit: false,
    minedIn: undefined, unexplained: undefined,
  };
}

/** The open transaction with a new attempt, to be broadcast at once. */
export function replaced(open: OpenTransaction, transaction: LaneTransaction, nowMs: number): OpenTransaction {
  return {
    ...open, transaction, broadcastAtMs: nowMs, waitingSince: undefined, refusals: 0, underpriced: false, atLimit: false,
  };
}

/**
 * The hashes whose receipts `decide` needs: of used nonces that were not seen mined before, and of those that should be
 * final now.
 */
export function dueReceipts(
  openTransactions: readonly OpenTransaction[], { head, count }: Pick<View, 'head' | 'count'>, confirmations: number,
): string[] {
  return openTransactions.filter((open) => isDue(open, head, count, confirmations))
    .flatMap(({ transaction }) => transaction.attempts.map(({ txHash }) => txHash));
}

/**
 * The open transactions after a look at the chain, and the actions to take, by nonce. Those that are over stay until
 * the caller removes them.
 */
export function decide(
  openTransactions: readonly OpenTransaction[], view: View, policy: OpenTransactionPolicy, nowMs: number,
): { readonly openTransactions: readonly OpenTransaction[]; readonly actions: readonly Action[] } {
  const actions: Action[] = [];
  const after = openTransactions.map((open) => open.transaction.nonce < view.count
    ? decideUsed(open, { view, policy, nowMs, actions })
    : decideUnused(open, { view, policy, nowMs, actions }));
  return { openTransactions: after, actions };
}

interface Deciding {
  readonly view: View;
  readonly policy: OpenTransactionPolicy;
  readonly nowMs: number;
  readonly actions: Action[];
}

/**
 * The nonce is used. If one of the attempts is mined, it is followed until it is final; if another transaction used the
 * nonce, it is lost.
 */
function decideUsed(open: OpenTransaction, { view, policy, nowMs, actions }: Deciding): OpenTransaction {
  const { nonce, attempts } = open.transaction;
  const { confirmations } = policy;
  if (!isDue(open, view.head, view.count, confirmations)) return open;
  const receipt = attempts.map(({ txHash }) => view.receipts.get(txHash)).find((found) => found !== undefined);
  if (receipt !== undefined) {
    const { txHash, block, succeeded } = receipt;
    if (view.head - block >= confirmations) actions.push({ kind: 'over', nonce, ending: { kind: 'mined', txHash, block, succeeded } });
    return { ...open, minedIn: block, unexplained: undefined };
  }
  const unexplained = open.unexplained ?? { block: view.head, ms: nowMs };
  const lasts = view.head - unexplained.block >= confirmations && nowMs - unexplained.ms >= policy.lostAfterMs;
  if (lasts && isProven(nonce, view.proof)) actions.push({ kind: 'over', nonce, ending: { kind: 'lost' } });
  // The count may be wrong, so the attempt must still get into a block.
  else if (nowMs >= open.broadcastAtMs) actions.push({ kind: 'broadcast', nonce });
  return { ...open, minedIn: undefined, unexplained };
}

/**
 * Whether the nonce is used at the final block and by every node's count. One wrong answer must not give up a
 * transaction that can be mined.
 */
function isProven(nonce: number, proof: Proof | undefined): boolean {
  if (proof === undefined) return false;
  const { finalCount = Infinity, nodeCounts } = proof;
  return finalCount > nonce && nodeCounts.every((count) => count > nonce);
}

/** The nonce is not used: the transaction is broadcast until it is mined, with higher fees from time to time. */
function decideUnused(before: OpenTransaction, { view, policy, nowMs, actions }: Deciding): OpenTransaction {
  const { nonce } = before.transaction;
  const now: LaneMoment = { block: view.head, ms: nowMs };
  let open: OpenTransaction = {
    ...before, unexplained: undefined, frontSince: nonce === view.count ? before.frontSince ?? now : undefined,
  };
  if (open.minedIn !== undefined) {
    actions.push({ kind: 'report', level: 'warn', text: `nonce ${nonce}: block ${open.minedIn} was reorganised away; the transaction is broadcast again` });
    open = {
      ...open, minedIn: undefined, broadcastAtMs: nowMs, waitingSince: open.waitingSince === undefined ? undefined : now,
    };
  }
  if (wantsMore(open, { view, policy, nowMs })) {
    const fees = replacementFees(offerOf(open), view, policy.limits, open.underpriced);
    if (fees !== undefined) {
      actions.push({ kind: 'replace', nonce, fees });
      return open;
    }
    if (!open.atLimit) {
      const text = `nonce ${nonce} is not mined, and the limit of ${policy.limits.maxFeePerGas} wei per unit of gas allows no higher fees`;
      actions.push({ kind: 'report', level: 'alert', text });
    }
    open = { ...open, atLimit: true };
  }
  if (nowMs >= open.broadcastAtMs) actions.push({ kind: 'broadcast', nonce });
  return open;
}

/**
 * Whether the latest attempt needs higher fees: the node asked for them, or the attempt has waited for too many blocks
 * although its nonce is next or its fee is below the base fee. Attempts behind an earlier nonce only wait for that one,
 * so higher fees would not help.
 */
function wantsMore(open: OpenTransaction, { view, policy, nowMs }: Omit<Deciding, 'actions'>): boolean {
  if (open.underpriced) return nowMs >= open.broadcastAtMs;
  const lasts = (since: LaneMoment | undefined): boolean => (
    since !== undefined && view.head - since.block >= policy.bumpAfterBlocks && nowMs - since.ms >= policy.bumpAfterMs);
  if (!lasts(open.waitingSince)) return false;
  return lasts(open.frontSince) || offerOf(open).maxFeePerGas < view.baseFeePerGas;
}

/** The fees of the latest attempt. */
function offerOf({ transaction: { nonce, attempts } }: OpenTransaction): Fees {
  const latest = attempts.at(-1);
  if (latest === undefined) throw new Error(`nonce ${nonce} is recorded without an attempt: the outbox is damaged`);
  return latest.fees;
}

/** The open transaction after a node's answer to a broadcast, and the alert to report, if any. */
export function answered(
  open: OpenTransaction, answer: BroadcastAnswer, { policy, now }: { policy: OpenTransactionPolicy; now: LaneMoment },
): { readonly open: OpenTransaction; readonly alert?: string } {
  const { nonce } = open.transaction;
  if (answer === 'accepted' || answer === 'nonce too low') {
    return {
      open: {
        ...open, refusals: 0, underpriced: false, broadcastAtMs: now.ms + policy.rebroadcastMs,
        waitingSince: open.waitingSince ?? now,
      },
    };
  }
  const refusals = open.refusals + 1;
  const waitMs = backoffMs(refusals, policy.backoff);
  const after = { ...open, refusals, broadcastAtMs: now.ms + waitMs, underpriced: answer === 'underpriced' };
  if (answer === 'underpriced' || open.refusals > 0) return { open: after };
  return {
    open: after,
    alert: answer === 'unfunded'
      ? `nonce ${nonce}: the key's account cannot pay for the gas: fund it`
      : `nonce ${nonce} was refused by the node and is broadcast again until a node accepts it`,
  };
}

function isDue({ transaction, minedIn }: OpenTransaction, head: number, count: number, confirmations: number): boolean {
  return transaction.nonce < count && (minedIn === undefined || head - minedIn >= confirmations);
}
