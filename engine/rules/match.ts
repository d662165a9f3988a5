/**
 * Matches an incoming order, by its terms, against a book by price-time priority. Returns events and does not change
 * the book.
 */
import { costOf } from '../records/amounts.js';
import { cancelled } from './cancelled.js';
import type { Event, OrderTermsSet } from '../records/events.js';
import { BUY, type MarketOutcome, type Side } from '../records/fields.js';
import { isPulledBy, lives, type Market, type Pull, type State, type Sweep } from './state.js';
import type { PlaceOrder } from '../records/commands.js';

/** An order to be matched: one that was just accepted, or one that gets the size of a failed fill back. */
export interface Incoming {
  readonly orderHash: string;
  readonly number: number;
  readonly market: Market;
  /** The trader's index; -1 for a new trader. */
  readonly trader: number;
  readonly address: string;
  readonly side: Side;
  readonly outcome: MarketOutcome;
  readonly price: number;
  readonly remaining: bigint;
  /** The bits of `termBits`. */
  readonly terms: number;
  /** Unfinished sweeps: resting orders that a sweep will cancel do not trade any more. */
  readonly sweeps: readonly Sweep[];
  /** Numbers of orders that the same command has already cancelled, although they are still on the book. */
  readonly gone?: ReadonlySet<number>;
  /** How many fills and cancels the command may still cause. */
  readonly workLeft: number;
}

/**
 * Appends the events of matching the order to `events`: fills, cancels of resting orders, and the rest or cancel of the
 * remainder.
 */
export function match(state: State, incoming: Incoming, events: Event[]): void {
  const { orders, columns } = state;
  const book = incoming.market.books[incoming.outcome];
  const opposite: Side = incoming.side === BUY ? 1 : 0;
  let { remaining, workLeft } = incoming;
  let fill = state.nextFill;
  for (let rank = 0; rank < book.levels(opposite) && remaining > 0n; rank++) {
    const price = book.priceAt(opposite, rank);
    if (incoming.side === BUY ? price > incoming.price : price < incoming.price) break;
    for (let slot = book.firstAt(opposite, rank); slot >= 0 && remaining > 0n; slot = orders.next(slot)) {
      if (incoming.gone?.has(orders.number(slot))) continue;
      if (workLeft-- === 0) {
        events.push(remainder(incoming, remaining, 'match_limit'));
        return;
      }
      const pull = incoming.sweeps.length === 0 ? undefined : pullOn(state, incoming.sweeps, slot);
      if (pull !== undefined) {
        events.push(cancelled(state, slot, pull.reason));
      } else if (!lives(state, slot)) {
        events.push(cancelled(state, slot, 'expired'));
      } else if (columns.trader.get(slot) === incoming.trader) {
        if ((incoming.terms & CANCELS_NEWER) !== 0 && orders.number(slot) < incoming.number) {
          events.push(remainder(incoming, remaining, 'self_trade'));
          return;
        }
        events.push(cancelled(state, slot, 'self_trade'));
      } else {
        const resting = orders.remaining(slot);
        const size = resting < remaining ? resting : remaining;
        const other = state.traders[columns.trader.get(slot)]!.address;
        const buys = incoming.side === BUY;
        events.push({
          type: 'FillMatched', v: 1, fill: fill++, marketId: incoming.market.marketId, outcome: incoming.outcome, price,
          size: size.toString(), cost: costOf(size, price).toString(), takerSide: incoming.side,
          makerNumber: orders.number(slot), takerNumber: incoming.number,
          buyer: buys ? incoming.address : other, seller: buys ? other : incoming.address,
        });
        remaining -= size;
      }
    }
  }
  if (remaining > 0n) events.push(remainder(incoming, remaining, (incoming.terms & NEVER_RESTS) === 0 ? undefined : 'time_in_force'));
}

/** The first trader's sweep that will cancel a resting order. */
function pullOn(state: State, sweeps: readonly Sweep[], slot: number): Pull | undefined {
  for (const sweep of sweeps) {
    if (sweep.kind === 'trader' && isPulledBy(state, sweep, slot)) return sweep;
  }
  return undefined;
}

/** The remainder of the incoming order: it rests, or with a reason it is cancelled. */
function remainder(incoming: Incoming, remaining: bigint, reason?: 'match_limit' | 'self_trade' | 'time_in_force'): Event {
  const order = {
    v: 1 as const, orderHash: incoming.orderHash, orderNumber: incoming.number, marketId: incoming.market.marketId,
    side: incoming.side, outcome: incoming.outcome, price: incoming.price,
  };
  return reason === undefined
    ? { type: 'OrderRested', ...order, size: remaining.toString() }
    : { type: 'OrderCancelled', ...order, remaining: remaining.toString(), rested: '0', reason };
}

/**
 * Bits of an order's `terms`; an order with none of them rests, may take, and cancels the older order of its trader.
 */
export const NEVER_RESTS = 1;
export const POST_ONLY = 2;
export const CANCELS_NEWER = 4;

type Terms = Pick<OrderTermsSet, 'timeInForce' | 'postOnly' | 'notAfter' | 'selfTrade'>;

/** The terms of a command; undefined when all of them are the defaults. */
export function termsOf({ timeInForce, postOnly, notAfter, selfTrade }: PlaceOrder): Terms | undefined {
  if (timeInForce === undefined && postOnly === undefined && notAfter === undefined && selfTrade === undefined) {
    return undefined;
  }
  return { timeInForce: timeInForce ?? 'GTC', postOnly: postOnly ?? false, notAfter: notAfter ?? null, selfTrade: selfTrade ?? 'cancel_older' };
}

/** The terms as bits. `notAfter` has none: it counts only until the order is accepted. */
export function termBits({ timeInForce, postOnly, selfTrade }: Terms): number {
  return (timeInForce === 'GTC' ? 0 : NEVER_RESTS) | (postOnly ? POST_ONLY : 0) | (selfTrade === 'cancel_newer' ? CANCELS_NEWER : 0);
}
