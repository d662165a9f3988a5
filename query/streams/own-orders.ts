/** The channels `orders:{address}`: the life of a trader's orders. */
import type {
  Event, FillFailed, FillMatched, FillSettled, OrderAccepted, OrderCancelled, OrderReduced, OrderReinstated,
} from '../../engine/records/events.js';
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

export function createOwnOrders(): OwnOrders {
  const known: Known = { accounts: new Map(), orders: new Map(), touched: new Set() };
  const { accounts, orders, touched } = known;
  return {
    add(name, trader, opening) {
      const account = { name, last: opening.last, orders: new Set<OrderState>() };
      accounts.set(trader, account);
      for (const order of opening.orders) keep(known, account, { ...order });
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
        case 'OrderAccepted': accept(known, event, telling); break;
        case 'FillMatched': case 'FillSettled': case 'FillFailed': fill(known, event, telling); break;
        case 'OrderCancelled': case 'OrderReduced': case 'OrderReinstated': change(known, event, telling); break;
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
        if (account !== undefined) keep(known, account, order);
      }
    },
  };
}

interface Known {
  readonly accounts: Map<string, Account>;
  /** Of all accounts, by number. */
  readonly orders: Map<number, OrderState>;
  /** To which the outcome that is folded has done something. */
  readonly touched: Set<OrderState>;
}

type Fill = FillMatched | FillSettled | FillFailed;

function keep({ orders }: Known, account: Account, order: OrderState): void {
  orders.set(order.number, order);
  account.orders.add(order);
}

function tell(account: Account, telling: Telling, type: string, { order, fields }: { readonly order: OrderState; readonly fields: Fields }): void {
  const text = textOf(account, telling, type, { orderHash: quoted(order.hash), remainingSize: `${order.remaining}`, ...fields });
  telling.messages.push(new Message(account.name, telling.position, text));
  account.last = telling.position;
}

function accept(known: Known, event: OrderAccepted, telling: Telling): void {
  const account = known.accounts.get(event.trader);
  if (account === undefined) return;
  const { orderNumber: number, orderHash: hash, trader, size } = event;
  const order = { number, hash, trader, remaining: BigInt(size), cancelled: false, unsettled: 0 };
  keep(known, account, order);
  const { side, outcome, price, nonce, expiration } = event;
  tell(account, telling, 'accepted', { order, fields: { marketId: quoted(event.marketId), side, outcome, price, size, nonce, expiration } });
}

function fill({ accounts, orders, touched }: Known, event: Fill, telling: Telling): void {
  for (const { number, trader, role } of partiesOf(event)) {
    const account = accounts.get(trader);
    if (account === undefined) continue;
    const order = orders.get(number);
    if (order === undefined) throw new Error(`order ${number} trades, but was never accepted: this contradicts the outcomes before`);
    touched.add(order);
    order.unsettled += event.type === 'FillMatched' ? 1 : -1;
    if (event.type === 'FillMatched') order.remaining -= BigInt(event.size);
    if (event.type === 'FillFailed') order.remaining += BigInt(event.size);
    const fields = {
      fill: event.fill, role: quoted(role), price: event.price, size: event.size,
      ...event.type !== 'FillMatched' && { txHash: quoted(event.txHash) }, ...event.type === 'FillFailed' && { reason: quoted(event.reason) },
    };
    tell(account, telling, FILL_TYPES[event.type], { order, fields });
  }
}

function change({ accounts, orders, touched }: Known, event: OrderCancelled | OrderReduced | OrderReinstated, telling: Telling): void {
  const order = orders.get(event.orderNumber);
  const account = accounts.get(order?.trader ?? '');
  if (order === undefined || account === undefined) return;
  touched.add(order);
  if (event.type !== 'OrderReinstated') order.remaining = BigInt(event.remaining);
  if (event.type === 'OrderCancelled') {
    order.cancelled = true;
    tell(account, telling, 'cancelled', { order, fields: { reason: quoted(event.reason) } });
  } else tell(account, telling, event.type === 'OrderReduced' ? 'reduced' : 'reinstated', { order, fields: { size: event.size } });
}

const FILL_TYPES = { FillMatched: 'filled', FillSettled: 'settled', FillFailed: 'failed' } as const;

function partiesOf({ takerSide, makerNumber, takerNumber, buyer, seller }: Fill) {
  const [maker, taker] = takerSide === BUY ? [seller, buyer] : [buyer, seller];
  return [{ number: makerNumber, trader: maker, role: 'maker' }, { number: takerNumber, trader: taker, role: 'taker' }] as const;
}
