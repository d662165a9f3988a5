/**
 * Adds up what traders have promised: resting orders, fills that the chain has not settled, and orders that are being
 * placed.
 */
import { UNIT } from '../../engine/records/amounts.js';
import type { Event, FillFailed, FillMatched, FillSettled } from '../../engine/records/events.js';
import { BUY, SELL, type MarketOutcome, type Side } from '../../engine/records/fields.js';

/** A promise of collateral (in units of 1e-12: size x price) or of shares of one market outcome (in units of 1e-6). */
export type Reservation
  = | { readonly trader: string; readonly kind: 'collateral'; readonly amount: bigint }
    | { readonly trader: string; readonly kind: 'shares'; readonly marketId: string; readonly outcome: MarketOutcome; readonly amount: bigint };

/** What an order of this size promises. `size` is the remaining size of an order that is partly filled. */
export function reservationOf(order: {
  readonly trader: string; readonly marketId: string; readonly side: Side; readonly outcome: MarketOutcome; readonly price: number;
  readonly size: bigint;
}): Reservation {
  const { trader, marketId, side, outcome, price, size } = order;
  return side === BUY
    ? { trader, kind: 'collateral', amount: size * BigInt(price) }
    : { trader, kind: 'shares', marketId, outcome, amount: size };
}

/** A fill of this chain; `size` and `cost` in units of 1e-6. */
interface Fill {
  readonly marketId: string;
  readonly outcome: MarketOutcome;
  readonly size: bigint;
  readonly cost: bigint;
  readonly buyer: string;
  readonly seller: string;
}

export interface Reservations {
  /** Counts a fill that was unsettled at the start. */
  addFill(fill: Fill): void;
  /** Counts an order that was resting at the start. */
  addOrder(order: Parameters<typeof reservationOf>[0]): void;
  /**
   * Applies a command's events. An order counts while it rests on a book, a fill from its match to its settlement or
   * failure.
   */
  fold(events: readonly Event[]): void;
  /** Counts `claim` until the returned function is called. */
  hold(claim: Reservation): () => void;
  /** The sum of all claims on the same asset of the same trader, in the claim's unit. */
  promised(claim: Reservation): bigint;
}

export interface ReservationParts {
  /** Whether a market is on this chain. Events of other markets are not counted. */
  readonly isHere: (marketId: string) => boolean;
  /** The trader of an order that the command's events name. */
  readonly traderOf: (orderHash: string) => string;
}

export function createReservations({ isHere, traderOf }: ReservationParts): Reservations {
  const amounts = new Map<string, bigint>();
  const add = (claim: Reservation, sign: 1n | -1n): void => {
    const key = keyOf(claim);
    const amount = (amounts.get(key) ?? 0n) + sign * claim.amount;
    if (amount === 0n) amounts.delete(key);
    else amounts.set(key, amount);
  };
  const count = ({ marketId, outcome, size, cost, buyer, seller }: Fill, sign: 1n | -1n): void => {
    add({ trader: buyer, kind: 'collateral', amount: cost * UNIT }, sign);
    add({ trader: seller, kind: 'shares', marketId, outcome, amount: size }, sign);
  };
  const fillOf = (event: FillMatched | FillSettled | FillFailed): Fill => ({
    ...event, size: BigInt(event.size), cost: BigInt(event.cost),
  });

  function foldOne(event: Event): void {
    switch (event.type) {
      case 'OrderRested':
        if (isHere(event.marketId)) {
          add(reservationOf({ ...event, trader: traderOf(event.orderHash), size: BigInt(event.size) }), 1n);
        }
        return;
      case 'OrderCancelled':
        if (event.rested !== '0' && isHere(event.marketId)) {
          add(reservationOf({ ...event, trader: traderOf(event.orderHash), size: BigInt(event.rested) }), -1n);
        }
        return;
      case 'FillMatched':
        if (!isHere(event.marketId)) return;
        add(reservationOf({ ...event, ...makerOf(event), size: BigInt(event.size) }), -1n);
        count(fillOf(event), 1n);
        return;
      case 'FillSettled': case 'FillFailed':
        if (isHere(event.marketId)) count(fillOf(event), -1n);
        return;
      default: // No other event changes resting orders or unsettled fills.
    }
  }

  return {
    addFill: (fill) => { count(fill, 1n); },
    addOrder: (order) => { add(reservationOf(order), 1n); },
    fold: (events) => { events.forEach(foldOne); },
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

/** The side and the trader of the resting order. */
function makerOf({ takerSide, buyer, seller }: FillMatched): { readonly side: Side; readonly trader: string } {
  return takerSide === BUY ? { side: SELL, trader: seller } : { side: BUY, trader: buyer };
}

function keyOf(claim: Reservation): string {
  return claim.kind === 'collateral' ? claim.trader : `${claim.trader}/${claim.marketId}/${claim.outcome}`;
}
