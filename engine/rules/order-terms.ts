/** An order's terms: what a PlaceOrder asks for beside what its trader has signed, and how the engine keeps it. */
import type { PlaceOrder } from '../records/commands.js';
import type { OrderTermsSet } from '../records/events.js';

/** Bits of an order's `terms`; an order with none of them rests, may take, and cancels the older order of its trader. */
export const NEVER_RESTS = 1;
export const POST_ONLY = 2;
export const CANCELS_NEWER = 4;

type Terms = Pick<OrderTermsSet, 'timeInForce' | 'postOnly' | 'notAfter' | 'selfTrade'>;

/** The terms of a command; undefined when all of them are the defaults. */
export function termsOf({ timeInForce, postOnly, notAfter, selfTrade }: PlaceOrder): Terms | undefined {
  if (timeInForce === undefined && postOnly === undefined && notAfter === undefined && selfTrade === undefined) return undefined;
  return { timeInForce: timeInForce ?? 'GTC', postOnly: postOnly ?? false, notAfter: notAfter ?? null, selfTrade: selfTrade ?? 'cancel_older' };
}

/** The terms as bits. `notAfter` has none: it counts only until the order is accepted. */
export function termBits({ timeInForce, postOnly, selfTrade }: Terms): number {
  return (timeInForce === 'GTC' ? 0 : NEVER_RESTS) | (postOnly ? POST_ONLY : 0) | (selfTrade === 'cancel_newer' ? CANCELS_NEWER : 0);
}
