/** A trader's open orders on a chain: read page by page, then kept from the stream. */
import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Message } from '../../../client/src/client.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { readerFrom } from '../exchange.js';
import { follow } from '../live.js';
import { ordersAfter, type LiveOrder, type LiveOrders } from '../orders/order-life.js';

export interface OpenOrders {
  readonly orders: ReadonlySignal<LiveOrders>;
  readonly status: ReadonlySignal<'reading' | 'read'>;
  readonly error: ReadonlySignal<unknown>;
  /** Whether more orders are open than were read. */
  readonly hasMore: ReadonlySignal<boolean>;
  more(): void;
  close(): void;
}

const PAGE_SIZE = 100;

export function followOrders(user: Hex, chainId: number, marketId?: Hex): OpenOrders {
  const orders = signal<LiveOrders>(new Map());
  const status = signal<'reading' | 'read'>('reading');
  const error = signal<unknown>(undefined);
  const hasMore = signal(false);
  let source: AsyncIterator<readonly LiveOrder[]> | undefined;
  /** What is told while a page is read comes after it. */
  let waiting: Message[] | undefined = [];
  let turn = 0;

  async function readPage(from: AsyncIterator<readonly LiveOrder[]>, isFirst: boolean): Promise<void> {
    const mine = turn;
    status.value = 'reading';
    waiting ??= [];
    try {
      const { value, done } = await from.next();
      if (mine !== turn) return;
      const page: readonly LiveOrder[] = done === true ? [] : value;
      const before = isFirst ? [] : [...orders.peek().values()];
      orders.value = new Map([...before, ...page].filter(isWanted).map((order) => [order.orderHash, order]));
      hasMore.value = page.length >= PAGE_SIZE;
      error.value = undefined;
    } catch (problem) {
      if (mine !== turn) return;
      error.value = problem;
    }
    status.value = 'read';
    const told = waiting;
    waiting = undefined;
    for (const message of told) apply(message);
  }

  const isWanted = (order: LiveOrder): boolean => marketId === undefined || order.marketId === marketId;
  const { readOrder, readQuestion } = partReader(orders, isWanted, marketId === undefined);

  function apply(message: Message): void {
    if (waiting !== undefined) {
      waiting.push(message);
      return;
    }
    const { orders: next, missing } = ordersAfter(orders.peek(), message);
    if (next !== orders.peek()) orders.value = new Map([...next].filter(([, order]) => isWanted(order)));
    if (missing !== undefined) void readOrder(missing, message.position);
    else if (message.type === 'accepted') void readQuestion(message.orderHash, message.position);
  }

  const unfollow = follow({
    channels: [`orders:${user}`],
    begins(reader) {
      turn += 1;
      waiting = [];
      source = reader.read.openOrders({ user, chainId }, { pageSize: PAGE_SIZE }).byPage()[Symbol.asyncIterator]();
      void readPage(source, true);
    },
    take(message) { if (message.channel === `orders:${user}`) apply(message); },
  });
  return {
    orders, status, error, hasMore,
    more() { if (source !== undefined && status.peek() === 'read') void readPage(source, false); },
    close() {
      turn += 1;
      unfollow();
    },
  };
}

interface PartReader {
  /** Reads an open order of which a message has told. */
  readOrder(hash: Hex, position: number): Promise<void>;
  /** Reads the question of an order's market, which messages do not tell. */
  readQuestion(hash: Hex, position: number): Promise<void>;
}

function partReader(orders: Signal<LiveOrders>, isWanted: (order: LiveOrder) => boolean, hasQuestions: boolean): PartReader {
  async function readOrder(hash: Hex, position: number): Promise<void> {
    const order = await readerFrom(position).read.order(hash).catch(() => undefined);
    if (order?.status !== 'open' || !isWanted(order)) return;
    orders.value = new Map(orders.peek()).set(hash, order);
    await readQuestion(hash, position);
  }

  async function readQuestion(hash: Hex, position: number): Promise<void> {
    const order = orders.peek().get(hash);
    if (order === undefined || order.marketQuestion !== undefined || !hasQuestions) return;
    const market = await readerFrom(position).read.market(order.marketId).catch(() => undefined);
    const now = orders.peek().get(hash);
    if (market !== undefined && now !== undefined) orders.value = new Map(orders.peek()).set(hash, { ...now, marketQuestion: market.question });
  }

  return { readOrder, readQuestion };
}
