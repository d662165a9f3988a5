/** What traders have promised already, beyond their open orders: fills that the chain has not settled, and orders on their way in. */
import { UNIT } from '../../engine/amounts.js';
import type { Event } from '../../engine/events.js';
import { BUY, type Outcome, type Side } from '../../engine/fields.js';

/** A promise: collateral of a chain, or shares of one outcome of a market; the amount in units of 1e-12 (size x price) or 1e-6. */
export type Claim
  = | { readonly trader: string; readonly kind: 'collateral'; readonly amount: bigint }
    | { readonly trader: string; readonly kind: 'shares'; readonly marketId: string; readonly outcome: Outcome; readonly amount: bigint };

/** What an order, or what remains of one, promises. */
export function claimOf(order: {
  readonly trader: string; readonly marketId: string; readonly side: Side; readonly outcome: Outcome; readonly price: number; readonly size: bigint;
}): Claim {
  const { trader, marketId, side, outcome, price, size } = order;
  return side === BUY
    ? { trader, kind: 'collateral', amount: size * BigInt(price) }
    : { trader, kind: 'shares', marketId, outcome, amount: size };
}

/** A fill of this chain that is not settled. */
interface Fill {
  readonly marketId: string;
  readonly outcome: Outcome;
  readonly size: bigint;
  readonly cost: bigint;
  readonly buyer: string;
  readonly seller: string;
}

export interface Reservations {
  /** Counts a fill that is unsettled already. */
  addFill(fill: Fill): void;
  /** Takes in what a command caused: matched fills are promised until they are settled or failed. */
  fold(events: readonly Event[]): void;
  /** Promises `claim` until the function that it returns is called. */
  hold(claim: Claim): () => void;
  /** All that is promised of what `claim` is about, in the claim's unit. */
  promised(claim: Claim): bigint;
}

/** Of one chain: fills in markets for which `isHere` is false are another chain's. */
export function createReservations(isHere: (marketId: string) => boolean): Reservations {
  const amounts = new Map<string, bigint>();
  const add = (claim: Claim, sign: 1n | -1n): void => {
    const key = keyOf(claim);
    const amount = (amounts.get(key) ?? 0n) + sign * claim.amount;
    if (amount === 0n) amounts.delete(key);
    else amounts.set(key, amount);
  };
  const count = ({ marketId, outcome, size, cost, buyer, seller }: Fill, sign: 1n | -1n): void => {
    add({ trader: buyer, kind: 'collateral', amount: cost * UNIT }, sign);
    add({ trader: seller, kind: 'shares', marketId, outcome, amount: size }, sign);
  };
  return {
    addFill: (fill) => { count(fill, 1n); },
    fold(events) {
      for (const event of events) {
        if (event.type !== 'FillMatched' && event.type !== 'FillSettled' && event.type !== 'FillFailed') continue;
        if (!isHere(event.marketId)) continue;
        count({ ...event, size: BigInt(event.size), cost: BigInt(event.cost) }, event.type === 'FillMatched' ? 1n : -1n);
      }
    },
    hold(claim) {
      add(claim, 1n);
      let held = true;
      return () => {
        if (held) add(claim, -1n);
        held = false;
      };
    },
    promised: (claim) => amounts.get(keyOf(claim)) ?? 0n,
  };
}

function keyOf(claim: Claim): string {
  return claim.kind === 'collateral' ? claim.trader : `${claim.trader}/${claim.marketId}/${claim.outcome}`;
}
