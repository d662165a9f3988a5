/** Two results that many decisions share: an order is cancelled, or a command is rejected. */
import type { CancelReason, Event, OrderCancelled, RejectionCode } from '../records/events.js';
import { OPEN, marketOf, type State } from './state.js';

export function rejected(code: RejectionCode, subject: string): Event[] {
  return [{ type: 'CommandRejected', v: 1, code, subject }];
}

/** The cancellation of a known order. `remaining` defaults to the order's remaining size. */
export function cancelled(
  state: State, slot: number, reason: CancelReason, remaining = state.orders.remaining(slot),
): OrderCancelled {
  const { orders } = state;
  const rests = state.columns.status.get(slot) === OPEN;
  return {
    type: 'OrderCancelled', v: 1, orderHash: orders.hashOf(slot), orderNumber: orders.number(slot),
    marketId: marketOf(state, slot).marketId, side: orders.side(slot), outcome: orders.outcome(slot),
    price: orders.price(slot), remaining: remaining.toString(), rested: rests ? orders.remaining(slot).toString() : '0', reason,
  };
}
