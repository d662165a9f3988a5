/** The channels `orders:{address}`: the life of a trader's orders. */
import type { Event, FillFailed, FillMatched, FillSettled, OrderAccepted } from '../../engine/records/events.js';
import { BUY } from '../../engine/records/fields.js';
import { Message } from './message.js';
import { quoted, textOf, type Fields, type Telling, type Thread } from './thread.js';

/** What of an order is needed to tell what happens to it. */
export interface OrderState {
  readonly number: number;
  readonly hash: string;
  readonly trader: string;
  remaining: bigint;
  /** Whether it was cancelled. */
  cancelled: boolean;
  /** Number of its fills that are neither settled nor failed. */
  unsettled: number;
}

/** A trader's orders at a position: at least those to which something can still happen. */
export interface OrdersOpening {
  readonly kind: 'orders';
  /** The last position at which something happened to one of them; -1 without one. */
  readonly last: number;
  readonly orders: readonly OrderState[];
}

interface Account extends Thread {
  readonly orders: Set<OrderState>;
}

export interface OwnOrders {
  add(name: string, trader: string, opening: OrdersOpening): void;
  remove(trader: string): OrdersOpening;
  /** Tells what the event does to the orders. Throws Error for an order that should be known. */
  take(event: Event, telling: Telling): void;
  /** Forgets the orders to which nothing can happen any more. To be called after the last event of an outcome. */
  end(): void;
  /** The numbers of orders that the event names without a trader, or with one whose orders are read, as far as they are not known. */
  unknown(event: Event): readonly number[];
  /** Orders that were not known, of any trader. */
  learn(orders: readonly OrderState[]): void;
}

type Fill = FillMatched | FillSettled | FillFailed;

export function createOwnOrders(): OwnOrders {
  const accounts = new Map<string, Account>();
  const orders = new Map<number, OrderState>();
  const touched = new Set<OrderState>();

  const keep = (account: Account, order: OrderState): void => {
    orders.set(order.number, order);
    account.orders.add(order);
  };
  const tell = (account: Account, telling: Telling, type: string, { hash, remaining }: OrderState, fields: Fields): void => {
    const text = textOf(account, telling, type, { orderHash: quoted(hash), remainingSize: `${remaining}`, ...fields });
    telling.messages.push(new Message(account.name, telling.position, text));
    account.last = telling.position;
  };
  const accept = (event: OrderAccepted, telling: Telling): void => {
    const account = accounts.get(event.trader);
    if (account === undefined) return;
    const order = {
      number: event.orderNumber, hash: event.orderHash, trader: event.trader, remaining: BigInt(event.size), cancelled: false, unsettled: 0,
    };
    keep(account, order);
    tell(account, telling, 'accepted', order, {
      marketId: quoted(event.marketId), side: event.side, outcome: event.outcome, price: event.price, size: event.size, nonce: event.nonce,
      expiration: event.expiration,
    });
  };
  const fill = (event: Fill, telling: Telling): void => {
    for (const { number, trader, role } of partiesOf(event)) {
      const account = accounts.get(trader);
      if (account === undefined) continue;
      const order = orders.get(number);
      if (order === undefined) throw new Error(`order ${number} trades, but was never accepted: this contradicts the outcomes before`);
      touched.add(order);
      order.unsettled += event.type === 'FillMatched' ? 1 : -1;
      if (event.type === 'FillMatched') order.remaining -= BigInt(event.size);
      if (event.type === 'FillFailed') order.remaining += BigInt(event.size);
      tell(account, telling, FILL_TYPES[event.type], order, {
        fill: event.fill, role: quoted(role), price: event.price, size: event.size,
        ...event.type !== 'FillMatched' && { txHash: quoted(event.txHash) }, ...event.type === 'FillFailed' && { reason: quoted(event.reason) },
      });
    }
  };

  return {
    add(name, trader, { last, orders: known }) {
      const account = { name, last, orders: new Set<OrderState>() };
      accounts.set(trader, account);
      for (const order of known) keep(account, { ...order });
    },
    remove(trader) {
      const account = accounts.get(trader);
      if (account === undefined) throw new Error(`nobody reads the orders of ${trader}`);
      accounts.delete(trader);
      for (const { number } of account.orders) orders.delete(number);
      return { kind: 'orders', last: account.last, orders: [...account.orders] };
    },
    take(event, telling) {
      switch (event.type) {
        case 'OrderAccepted': accept(event, telling); break;
        case 'FillMatched': case 'FillSettled': case 'FillFailed': fill(event, telling); break;
        case 'OrderCancelled': case 'OrderReduced': case 'OrderReinstated': {
          const order = orders.get(event.orderNumber);
          const account = accounts.get(order?.trader ?? '');
          if (order === undefined || account === undefined) break;
          touched.add(order);
          if (event.type !== 'OrderReinstated') order.remaining = BigInt(event.remaining);
          if (event.type === 'OrderCancelled') {
            order.cancelled = true;
            tell(account, telling, 'cancelled', order, { reason: quoted(event.reason) });
          } else tell(account, telling, event.type === 'OrderReduced' ? 'reduced' : 'reinstated', order, { size: event.size });
          break;
        }
        default:
      }
    },
    end() {
      for (const order of touched) {
        if (order.unsettled > 0 || (!order.cancelled && order.remaining > 0n)) continue;
        orders.delete(order.number);
        accounts.get(order.trader)?.orders.delete(order);
      }
      touched.clear();
    },
    unknown(event) {
      switch (event.type) {
        case 'FillMatched': case 'FillSettled': case 'FillFailed':
          return partiesOf(event).flatMap(({ number, trader }) => accounts.has(trader) && !orders.has(number) ? [number] : []);
        case 'OrderCancelled': case 'OrderReduced': case 'OrderReinstated':
          return accounts.size === 0 || orders.has(event.orderNumber) ? [] : [event.orderNumber];
        default: return [];
      }
    },
    learn(learnt) {
      for (const order of learnt) {
        const account = accounts.get(order.trader);
        if (account !== undefined) keep(account, order);
      }
    },
  };
}

const FILL_TYPES = { FillMatched: 'filled', FillSettled: 'settled', FillFailed: 'failed' } as const;

function partiesOf({ takerSide, makerNumber, takerNumber, buyer, seller }: Fill) {
  const [maker, taker] = takerSide === BUY ? [seller, buyer] : [buyer, seller];
  return [{ number: makerNumber, trader: maker, role: 'maker' }, { number: takerNumber, trader: taker, role: 'taker' }] as const;
}
