/** What a sender does next, as a pure function of what it has recorded and what the chain shows: one nonce after the other, no gap. */
import { replacementFees, type FeeLimits, type FeeMarket, type Fees } from './fees.js';
import type { OutboxTransaction } from './outbox.js';
import type { Ending } from './sender.js';

/** A transaction on its way. Times are those of the sender's clock, in milliseconds. */
export interface Flight {
  readonly transaction: OutboxTransaction;
  /** When the latest attempt is to be broadcast, or broadcast again. */
  readonly broadcastAtMs: number;
  /** Since when the latest attempt could be mined; undefined before a node took it. */
  readonly waitingSinceMs: number | undefined;
  /** Since when all earlier nonces are mined. */
  readonly frontSinceMs: number | undefined;
  /** Broadcasts in a row that a node refused. */
  readonly refusals: number;
  /** The node wants higher fees. */
  readonly underpriced: boolean;
  /** The fee limit allows no further replacement, and the operator was told. */
  readonly atLimit: boolean;
  /** The block that had it when last seen. */
  readonly minedIn: number | undefined;
  /** Since which block and time its nonce is used, though by none of its attempts. */
  readonly unexplained: { readonly block: number; readonly sinceMs: number } | undefined;
}

export interface Receipt {
  readonly txHash: string;
  readonly block: number;
  readonly succeeded: boolean;
}

/** What the chain shows at one time. */
export interface View extends FeeMarket {
  /** The latest block. */
  readonly head: number;
  /** How many transactions of the key the latest block's state knows: the nonce that is due. */
  readonly count: number;
  /** Those of `wantedReceipts` that exist, by transaction hash. */
  readonly receipts: ReadonlyMap<string, Receipt>;
}

export interface LanePolicy {
  readonly confirmations: number;
  readonly limits: FeeLimits;
  /** An attempt that is not mined for this time is replaced. */
  readonly bumpAfterMs: number;
  /** What is not mined is broadcast again this often, should nodes have dropped it. */
  readonly rebroadcastMs: number;
  /** A nonce that somebody else used is given up after this time and `confirmations` blocks. */
  readonly lostAfterMs: number;
  /** Waits after the first, second, … refusal in a row; the last one repeats. */
  readonly backoffMs: readonly number[];
  /** Transactions that are recorded and not mined, at most. */
  readonly maxInFlight: number;
  /** Transactions that are not over, at most. */
  readonly maxOpen: number;
}

export type Action
  = | { readonly kind: 'broadcast'; readonly nonce: number }
    | { readonly kind: 'replace'; readonly nonce: number; readonly fees: Fees }
    | { readonly kind: 'over'; readonly nonce: number; readonly ending: Ending }
    | { readonly kind: 'report'; readonly level: 'trouble' | 'alarm'; readonly text: string };

/** A node's answer to a broadcast. */
export type BroadcastAnswer = 'taken' | 'nonce too low' | 'underpriced' | 'unfunded' | 'refused';

/** A transaction that is recorded, or was found recorded at a start: it is broadcast at once. */
export function takeOff(transaction: OutboxTransaction, nowMs: number): Flight {
  return {
    transaction, broadcastAtMs: nowMs, waitingSinceMs: transaction.attempts.at(-1)!.broadcast ? nowMs : undefined, frontSinceMs: undefined,
    refusals: 0, underpriced: false, atLimit: false, minedIn: undefined, unexplained: undefined,
  };
}

/** The flight with a new attempt, to be broadcast at once. */
export function replaced(flight: Flight, transaction: OutboxTransaction, nowMs: number): Flight {
  return { ...flight, transaction, broadcastAtMs: nowMs, waitingSinceMs: undefined, refusals: 0, underpriced: false, atLimit: false };
}

/** The next nonce: dense after what is recorded, and beyond what the chain has used. */
export function nextNonce(recordedNonces: number, { count }: Pick<View, 'count'>): number {
  return Math.max(recordedNonces, count);
}

/**
 * Whether the chain wants a nonce before all that are open: it has forgotten what was final, or a stranger's transaction that
 * ours went behind. A nonce taken now would wait behind that gap.
 */
export function hasGap(flights: readonly Flight[], recordedNonces: number, { count }: Pick<View, 'count'>): boolean {
  return count < (flights[0]?.transaction.nonce ?? recordedNonces);
}

/** How many more transactions may be recorded. What is mined and not yet final does not count as in flight. */
export function room(flights: readonly Flight[], { count }: Pick<View, 'count'>, { maxInFlight, maxOpen }: LanePolicy): number {
  const unmined = flights.filter(({ transaction }) => transaction.nonce >= count).length;
  return Math.max(0, Math.min(maxInFlight - unmined, maxOpen - flights.length));
}

/** The receipts that a decision needs: of used nonces not seen mined before, and of those that should be final by now. */
export function wantedReceipts(flights: readonly Flight[], { head, count }: Pick<View, 'head' | 'count'>, confirmations: number): string[] {
  return flights.filter((flight) => isDue(flight, head, count, confirmations))
    .flatMap(({ transaction }) => transaction.attempts.map(({ txHash }) => txHash));
}

/** The flights after a look at the chain, and what to do, by nonce. Flights whose ending is due stay until the caller removes them. */
export function decide(
  flights: readonly Flight[], view: View, policy: LanePolicy, nowMs: number,
): { readonly flights: readonly Flight[]; readonly actions: readonly Action[] } {
  const actions: Action[] = [];
  const after = flights.map((flight) => flight.transaction.nonce < view.count
    ? decideUsed(flight, { view, policy, nowMs, actions })
    : decideUnused(flight, { view, policy, nowMs, actions }));
  return { flights: after, actions };
}

interface Deciding { readonly view: View; readonly policy: LanePolicy; readonly nowMs: number; readonly actions: Action[] }

/** Its nonce is used: by one of its attempts, then it is followed until final; or by another transaction, then it is lost. */
function decideUsed(flight: Flight, { view, policy, nowMs, actions }: Deciding): Flight {
  const { nonce, attempts } = flight.transaction;
  const { confirmations } = policy;
  if (!isDue(flight, view.head, view.count, confirmations)) return flight;
  const receipt = attempts.map(({ txHash }) => view.receipts.get(txHash)).find((found) => found !== undefined);
  if (receipt !== undefined) {
    const { txHash, block, succeeded } = receipt;
    if (view.head - block >= confirmations) actions.push({ kind: 'over', nonce, ending: { kind: 'mined', txHash, block, succeeded } });
    return { ...flight, minedIn: block, unexplained: undefined };
  }
  const unexplained = flight.unexplained ?? { block: view.head, sinceMs: nowMs };
  if (view.head - unexplained.block >= confirmations && nowMs - unexplained.sinceMs >= policy.lostAfterMs) {
    actions.push({ kind: 'over', nonce, ending: { kind: 'lost' } });
  }
  return { ...flight, minedIn: undefined, unexplained };
}

/** Its nonce is not used: it is broadcast until it is mined, with higher fees from time to time. */
function decideUnused(before: Flight, { view, policy, nowMs, actions }: Deciding): Flight {
  const { nonce } = before.transaction;
  let flight: Flight = { ...before, unexplained: undefined, frontSinceMs: nonce === view.count ? before.frontSinceMs ?? nowMs : undefined };
  if (flight.minedIn !== undefined) {
    actions.push({ kind: 'report', level: 'trouble', text: `nonce ${nonce}: block ${flight.minedIn} was reorganised away; it is broadcast again` });
    const waitingSinceMs = flight.waitingSinceMs === undefined ? undefined : nowMs;
    flight = { ...flight, minedIn: undefined, broadcastAtMs: nowMs, waitingSinceMs };
  }
  if (wantsMore(flight, { view, policy, nowMs })) {
    const fees = replacementFees(flight.transaction.attempts.at(-1)!.fees, view, policy.limits);
    if (fees !== undefined) {
      actions.push({ kind: 'replace', nonce, fees });
      return flight;
    }
    if (!flight.atLimit) {
      const text = `nonce ${nonce} is not mined, and the limit of ${policy.limits.maxFeePerGas} wei for a unit of gas allows no higher fees`;
      actions.push({ kind: 'report', level: 'alarm', text });
    }
    flight = { ...flight, atLimit: true };
  }
  if (nowMs >= flight.broadcastAtMs) actions.push({ kind: 'broadcast', nonce });
  return flight;
}

/**
 * Whether the latest attempt is to be replaced: the node wants more, or it has waited too long and either stands at the front or
 * could not even pay the base fee. Others wait for those before them, so more fees would not help them.
 */
function wantsMore(flight: Flight, { view, policy, nowMs }: Omit<Deciding, 'actions'>): boolean {
  if (flight.underpriced) return nowMs >= flight.broadcastAtMs;
  const { waitingSinceMs, frontSinceMs } = flight;
  if (waitingSinceMs === undefined || nowMs - waitingSinceMs < policy.bumpAfterMs) return false;
  if (frontSinceMs !== undefined && nowMs - frontSinceMs >= policy.bumpAfterMs) return true;
  return flight.transaction.attempts.at(-1)!.fees.maxFeePerGas < view.baseFeePerGas;
}

/** The flight after a node's answer to its latest attempt, and what the operator hears. */
export function answered(
  flight: Flight, answer: BroadcastAnswer, { policy, nowMs }: { policy: LanePolicy; nowMs: number },
): { readonly flight: Flight; readonly alarm?: string } {
  const { nonce } = flight.transaction;
  if (answer === 'taken' || answer === 'nonce too low') {
    return {
      flight: {
        ...flight, refusals: 0, underpriced: false, broadcastAtMs: nowMs + policy.rebroadcastMs, waitingSinceMs: flight.waitingSinceMs ?? nowMs,
      },
    };
  }
  const waitMs = policy.backoffMs[Math.min(flight.refusals, policy.backoffMs.length - 1)] ?? 0;
  const after = { ...flight, refusals: flight.refusals + 1, broadcastAtMs: nowMs + waitMs, underpriced: answer === 'underpriced' };
  if (answer === 'underpriced' || flight.refusals > 0) return { flight: after };
  return {
    flight: after,
    alarm: answer === 'unfunded'
      ? `nonce ${nonce}: the key's account cannot pay for the gas: fund it`
      : `nonce ${nonce} is refused by the node, and tried again until it is taken`,
  };
}

function isDue({ transaction, minedIn }: Flight, head: number, count: number, confirmations: number): boolean {
  return transaction.nonce < count && (minedIn === undefined || head - minedIn >= confirmations);
}
