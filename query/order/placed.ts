/** `GET /orders/{hash}` before the read model has the order: the order as its own command left it, from that command's outcome. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { OrderCancelled } from '../../engine/records/events.js';
import { MAX_FILLS } from './history.js';
import type { Answer } from '../statement.js';

export interface PlacedOrder extends Answer {
  readonly status: 'open' | 'filled' | 'cancelled';
  /** In 1e-6 shares, decimal. */
  readonly remaining: string;
}

/**
 * The answer that `orderWithHistory` gives when the read model has reached the order's PlaceOrder and no later command; `outcome` is the
 * outcome of that command. Throws Error when it is not the outcome of an order's acceptance.
 */
export function orderAsPlaced(outcome: CommandOutcome): PlacedOrder {
  const [order, ...events] = outcome.events;
  if (order?.type !== 'OrderAccepted') throw new Error(`the outcome of an order began with ${order?.type ?? 'nothing'}`);
  const { orderNumber: position, size } = order;
  const timestamp = Math.floor(outcome.at / 1_000);
  let remaining = BigInt(size);
  const fills: string[] = [];
  let cancelled: OrderCancelled | undefined;
  for (const event of events) {
    if (event.type === 'FillMatched') {
      remaining -= BigInt(event.size);
      fills.push(`{"position":${position},"type":"fill","fill":${event.fill},"role":"taker","price":${event.price},"size":${event.size},`
        + `"settlementStatus":"matched","txHash":"","timestamp":${timestamp}}`);
    }
    if (event.type === 'OrderCancelled' && event.orderNumber === position) cancelled = event;
  }
  const status = cancelled !== undefined ? 'cancelled' : remaining === 0n ? 'filled' : 'open';
  const reason = cancelled === undefined ? 'null' : `"${cancelled.reason}"`;
  const history = [
    `{"position":${position},"type":"accepted","size":${size},"timestamp":${timestamp}}`, ...fills.slice(-MAX_FILLS),
    ...status === 'open' ? [] : [`{"position":${position},"type":"${status}","size":${remaining},"reason":${reason},"timestamp":${timestamp}}`],
  ];
  const body = `{"orderHash":"${order.orderHash}","marketId":"${order.marketId}","trader":"${order.trader}","side":${order.side},`
    + `"outcome":${order.outcome},"price":${order.price},"size":${size},"filledSize":${BigInt(size) - remaining},"remainingSize":${remaining},`
    + `"nonce":${order.nonce},"expiration":${order.expiration},"status":"${status}","cancelReason":${reason},"timestamp":${timestamp},`
    + `"history":[${history.join(', ')}]}`;
  return { body, position, status, remaining: String(remaining) };
}
