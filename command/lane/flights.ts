/** What a lane does about its open transactions, as a pure function of what it has recorded and what the chain shows. */
import { replacementFees, type FeeLimits, type FeeMarket, type Fees } from './fees.js';
import type { Attempt, Ending, HeldRequest } from './requests.js';

export interface RecordedAttempt extends Attempt {
  readonly fees: Fees;
  /** A node is known to have taken it. */
  readonly broadcast: boolean;
}

/** One nonce, one or more attempts. Users of a lane never see it. */
export interface LaneTransaction {
  readonly nonce: number;
  /** Undefined for an empty transaction that only fills a gap between nonces. */
  readonly request: HeldRequest | undefined;
  /** At least one, the latest last. */
  readonly attempts: readonly RecordedAttempt[];
}

/** A block and a time on the lane's clock, in milliseconds: since when something has been so. */
export interface Moment {
  readonly block: number;
  readonly ms: number;
}

/** A transaction on its way. Times are those of the lane's clock, in milliseconds. */
export interface Flight {
  readonly transaction: LaneTransaction;
  /** When the latest attempt is to be broadcast, or broadcast again. */
  readonly broadcastAtMs: number;
  /** Since when the latest attempt could be mined; undefined before this process knows that a node took it. */
  readonly waitingSince: Moment | undefined;
  /** Since when all earlier nonces are mined. */
  readonly frontSince: Moment | undefined;
  /** Broadcasts in a row that a node refused. */
  readonly refusals: number;
  /** The node wants higher fees. */
  readonly underpriced: boolean;
  /** The fee limit allows no further replacement, and the operator was told. */
  readonly atLimit: boolean;
  /** The block that had it when last seen. */
  readonly minedIn: number | undefined;
  /** Since when its nonce is used, though by none of its attempts. */
  readonly unexplained: Moment | undefined;
}

export interface Receipt {
  readonly txHash: string;
  readonly block: number;
  readonly succeeded: boolean;
}

/** The key's transaction count, asked again where one answer must not decide. */
export interface Proof {
  /** At the latest final block; undefined where no node can tell. */
  readonly finalCount: number | undefined;
  /** At the latest block, of each node that answers. */
  readonly nodeCounts: readonly number[];
}

/** What the chain shows at one time. */
export interface View extends FeeMarket {
  /** The latest block. */
  readonly head: number;
  /** How many transactions of the key the latest block's state knows: the nonce that is due. */
  readonly count: number;
  /** Undefined where the count was not in doubt. */
  readonly proof: Proof | undefined;
  /** Those of `wantedReceipts` that exist, by transaction hash. */
  readonly receipts: ReadonlyMap<string, Receipt>;
}

export interface FlightPolicy {
  readonly confirmations: number;
  readonly limits: FeeLimits;
  /** An attempt that is not mined within so many blocks is replaced; without blocks none is. */
  readonly bumpAfterBlocks: number;
  /** And not before this time: blocks may come many in a second. */
  readonly bumpAfterMs: number;
  /** What is not mined is broadcast again this often, should nodes have dropped it. */
  readonly rebroadcastMs: number;
  /** A nonce that somebody else used is given up after this time and `confirmations` blocks. */
  readonly lostAfterMs: number;
  /** Waits after the first, second, … refusal in a row; the last one repeats. */
  readonly backoffMs: readonly number[];
}

export type Action
  = | { readonly kind: 'broadcast'; readonly nonce: number }
    | { readonly kind: 'replace'; readonly nonce: number; readonly fees: Fees }
    | { readonly kind: 'over'; readonly nonce: number; readonly ending: Ending }
    | { readonly kind: 'report'; readonly level: 'trouble' | 'alarm'; readonly text: string };

/** A node's answer to a broadcast. */
export type BroadcastAnswer = 'taken' | 'nonce too low' | 'underpriced' | 'unfunded' | 'refused';

/** A transaction that is recorded, or was found recorded at a start: it is broadcast at once, though a node may have taken it before. */
export function takeOff(transaction: LaneTransaction, nowMs: number): Flight {
  return {
    transaction, broadcastAtMs: nowMs, waitingSince: undefined, frontSince: undefined, refusals: 0, underpriced: false, atLimit: false,
    minedIn: undefined, unexplained: undefined,
  };
}

/** The flight with a new attempt, to be broadcast at once. */
export function replaced(flight: Flight, transaction: LaneTransaction, nowMs: number): Flight {
  return { ...flight, transaction, broadcastAtMs: nowMs, waitingSince: undefined, refusals: 0, underpriced: false, atLimit: false };
}

/** The receipts that a decision needs: of used nonces not seen mined before, and of those that should be final by now. */
export function wantedReceipts(flights: readonly Flight[], { head, count }: Pick<View, 'head' | 'count'>, confirmations: number): string[] {
  return flights.filter((flight) => isDue(flight, head, count, confirmations))
    .flatMap(({ transaction }) => transaction.attempts.map(({ txHash }) => txHash));
}

/** The flights after a look at the chain, and what to do, by nonce. Flights whose ending is due stay until the caller removes them. */
export function decide(
  flights: readonly Flight[], view: View, policy: FlightPolicy, nowMs: number,
): { readonly flights: readonly Flight[]; readonly actions: readonly Action[] } {
  const actions: Action[] = [];
  const after = flights.map((flight) => flight.transaction.nonce < view.count
    ? decideUsed(flight, { view, policy, nowMs, actions })
    : decideUnused(flight, { view, policy, nowMs, actions }));
  return { flights: after, actions };
}

interface Deciding { readonly view: View; readonly policy: FlightPolicy; readonly nowMs: number; readonly actions: Action[] }

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
  const unexplained = flight.unexplained ?? { block: view.head, ms: nowMs };
  const lasts = view.head - unexplained.block >= confirmations && nowMs - unexplained.ms >= policy.lostAfterMs;
  if (lasts && isProven(nonce, view.proof)) actions.push({ kind: 'over', nonce, ending: { kind: 'lost' } });
  // The count may be wrong: then it has to get into a block.
  else if (nowMs >= flight.broadcastAtMs) actions.push({ kind: 'broadcast', nonce });
  return { ...flight, minedIn: undefined, unexplained };
}

/** Whether the nonce is used at the final block too, and every node says so: one wrong answer must not end what may still be mined. */
function isProven(nonce: number, proof: Proof | undefined): boolean {
  if (proof === undefined) return false;
  const { finalCount = Infinity, nodeCounts } = proof;
  return finalCount > nonce && nodeCounts.every((count) => count > nonce);
}

/** Its nonce is not used: it is broadcast until it is mined, with higher fees from time to time. */
function decideUnused(before: Flight, { view, policy, nowMs, actions }: Deciding): Flight {
  const { nonce } = before.transaction;
  const now: Moment = { block: view.head, ms: nowMs };
  let flight: Flight = { ...before, unexplained: undefined, frontSince: nonce === view.count ? before.frontSince ?? now : undefined };
  if (flight.minedIn !== undefined) {
    actions.push({ kind: 'report', level: 'trouble', text: `nonce ${nonce}: block ${flight.minedIn} was reorganised away; it is broadcast again` });
    flight = { ...flight, minedIn: undefined, broadcastAtMs: nowMs, waitingSince: flight.waitingSince === undefined ? undefined : now };
  }
  if (wantsMore(flight, { view, policy, nowMs })) {
    const fees = replacementFees(offerOf(flight), view, policy.limits);
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
 * Whether the latest attempt is to be replaced: the node wants more, or it has waited for too many blocks and either stands at the front or
 * could not even pay the base fee. Others wait for those before them, so more fees would not help them.
 */
function wantsMore(flight: Flight, { view, policy, nowMs }: Omit<Deciding, 'actions'>): boolean {
  if (flight.underpriced) return nowMs >= flight.broadcastAtMs;
  const lasts = (since: Moment | undefined): boolean => (
    since !== undefined && view.head - since.block >= policy.bumpAfterBlocks && nowMs - since.ms >= policy.bumpAfterMs);
  if (!lasts(flight.waitingSince)) return false;
  return lasts(flight.frontSince) || offerOf(flight).maxFeePerGas < view.baseFeePerGas;
}

/** What the latest attempt offers. */
function offerOf({ transaction: { nonce, attempts } }: Flight): Fees {
  const latest = attempts.at(-1);
  if (latest === undefined) throw new Error(`nonce ${nonce} is recorded without an attempt: the outbox is damaged`);
  return latest.fees;
}

/** The flight after a node's answer to its latest attempt, and what the operator hears. */
export function answered(
  flight: Flight, answer: BroadcastAnswer, { policy, now }: { policy: FlightPolicy; now: Moment },
): { readonly flight: Flight; readonly alarm?: string } {
  const { nonce } = flight.transaction;
  if (answer === 'taken' || answer === 'nonce too low') {
    return {
      flight: {
        ...flight, refusals: 0, underpriced: false, broadcastAtMs: now.ms + policy.rebroadcastMs, waitingSince: flight.waitingSince ?? now,
      },
    };
  }
  const waitMs = policy.backoffMs[Math.min(flight.refusals, policy.backoffMs.length - 1)] ?? 0;
  const after = { ...flight, refusals: flight.refusals + 1, broadcastAtMs: now.ms + waitMs, underpriced: answer === 'underpriced' };
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
