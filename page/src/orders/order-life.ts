/** The open orders of a trader, kept from the messages of the channel `orders:{address}`. */
import type { Message } from '../../../client/src/client.js';
import type { Hex, Outcome, Side } from '../../../client/src/vocabulary.js';

export interface LiveOrder {
  readonly orderHash: Hex;
  readonly marketId: Hex;
  /** Absent until somebody has read it. */
  readonly marketQuestion?: string | undefined;
  readonly side: Side;
  readonly outcome: Outcome;
  readonly price: bigint;
  readonly size: bigint;
  readonly remainingSize: bigint;
}

export type LiveOrders = ReadonlyMap<Hex, LiveOrder>;

/** What a message does to the open orders; `missing` is an order that is open and has to be read. */
export interface OrdersAfter {
  readonly orders: LiveOrders;
  readonly missing?: Hex;
}

/** The orders after a message. A message of an order that is not here and is not open changes nothing. */
export function ordersAfter(orders: LiveOrders, message: Message): OrdersAfter {
  switch (message.type) {
    case 'accepted': {
      if (message.remainingSize === 0n) return { orders };
      const { orderHash, marketId, side, outcome, price, size, remainingSize } = message;
      const known = [...orders.values()].find((each) => each.marketId === marketId)?.marketQuestion;
      const order = { orderHash, marketId, marketQuestion: known, side, outcome, price, size, remainingSize };
      return { orders: new Map(orders).set(orderHash, order) };
    }
    case 'filled': return withChange(orders, message.orderHash, { remainingSize: message.remainingSize });
    case 'reduced': {
      const { orderHash, size, remainingSize } = message;
      return withChange(orders, orderHash, { size, remainingSize });
    }
    case 'cancelled': return withChange(orders, message.orderHash, { remainingSize: 0n });
    case 'reinstated': {
      const { orderHash, remainingSize } = message;
      return orders.has(orderHash) ? withChange(orders, orderHash, { remainingSize }) : { orders, missing: orderHash };
    }
    default: return { orders };
  }
}

function withChange(orders: LiveOrders, hash: Hex, change: Partial<LiveOrder>): OrdersAfter {
  const order = orders.get(hash);
  if (order === undefined) return { orders };
  const [changed, next] = [{ ...order, ...change }, new Map(orders)];
  if (changed.remainingSize === 0n) next.delete(hash); else next.set(hash, changed);
  return { orders: next };
}

/** Why a fill failed, in words. The API tells a code. */
export function failureInWords(reason: string): string {
  return FAILURES[reason] ?? reason.replaceAll('_', ' ');
}

const FAILURES: Readonly<Record<string, string>> = {
  buyer_insufficient_balance: 'the buyer had too little stablecoin',
  buyer_insufficient_allowance: 'the buyer had not allowed the exchange enough stablecoin',
  seller_insufficient_shares: 'the seller had too few shares',
  seller_not_approved: 'the seller had not let the exchange move shares',
  order_expired: 'an order had expired',
  order_cancelled: 'an order was cancelled on the chain',
  overfill: 'an order would have been filled beyond its size',
  market_resolved: 'the market was resolved before',
  invalid_signature: 'the contract did not accept a signature',
  transfer_rejected: 'a transfer was rejected',
  transaction_reverted: 'the transaction reverted',
  unknown: 'nothing more is known',
};
