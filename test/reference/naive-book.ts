/** Books as a behaviour: the fast one behind hashes and bigints, and an obvious one to compare it with. */
import { deserialize, serialize } from 'node:v8';
import { Book, type BookDump } from '../../engine/book/book.js';
import { OrderPool, type OrderPoolDump } from '../../engine/book/order-pool.js';
import { highWord, lowWord } from '../../engine/records/integers.js';
import { BUY, SELL, YES, type Side } from '../../engine/records/fields.js';

export interface Order {
  readonly hash: string;
  readonly side: Side;
  readonly price: number;
  readonly number: number;
}

export interface Level {
  readonly price: number;
  readonly size: bigint;
  readonly orders: readonly { hash: string; number: number; remaining: bigint }[];
}

export interface Fill {
  readonly maker: string;
  readonly price: number;
  readonly size: bigint;
}

/** What the comparison asks of a book. Orders are known from their first rest until forget. */
export interface AnyBook {
  rest(order: Order, remaining: bigint): void;
  reduce(hash: string, size: bigint): void;
  increase(hash: string, size: bigint): void;
  remove(hash: string): void;
  /** The fills that an incoming order would have. Changes nothing. */
  walk(side: Side, price: number, size: bigint): Fill[];
  /** Levels, best first, each with its orders, oldest first. */
  levels(side: Side): Level[];
  best(side: Side): number | undefined;
}

/** Resting orders in a map; everything else is worked out anew each time. */
export class NaiveBook implements AnyBook {
  private readonly resting = new Map<string, Order & { remaining: bigint }>();

  rest(order: Order, remaining: bigint): void {
    this.resting.set(order.hash, { ...order, remaining });
  }

  reduce(hash: string, size: bigint): void {
    const order = this.resting.get(hash)!;
    order.remaining -= size;
    if (order.remaining === 0n) this.resting.delete(hash);
  }

  increase(hash: string, size: bigint): void {
    this.resting.get(hash)!.remaining += size;
  }

  remove(hash: string): void {
    this.resting.delete(hash);
  }

  walk(side: Side, price: number, size: bigint): Fill[] {
    const fills: Fill[] = [];
    let left = size;
    for (const maker of this.sorted(side === BUY ? SELL : BUY)) {
      if (left === 0n || (side === BUY ? maker.price > price : maker.price < price)) break;
      const fill = maker.remaining < left ? maker.remaining : left;
      fills.push({ maker: maker.hash, price: maker.price, size: fill });
      left -= fill;
    }
    return fills;
  }

  levels(side: Side): Level[] {
    const orders = this.sorted(side);
    return [...new Set(orders.map((order) => order.price))].map((price) => {
      const level = orders.filter((order) => order.price === price);
      return {
        price,
        size: level.reduce((sum, order) => sum + order.remaining, 0n),
        orders: level.map(({ hash, number, remaining }) => ({ hash, number, remaining })),
      };
    });
  }

  best(side: Side): number | undefined {
    return this.sorted(side)[0]?.price;
  }

  private sorted(side: Side): (Order & { remaining: bigint })[] {
    return [...this.resting.values()]
      .filter((order) => order.side === side)
      .sort((a, b) => (side === BUY ? b.price - a.price : a.price - b.price) || a.number - b.number);
  }
}

/** The engine's book. */
export class FastBook implements AnyBook {
  constructor(readonly pool = new OrderPool(), readonly book = new Book(pool)) {}

  rest(order: Order, remaining: bigint): void {
    const { pool } = this;
    let slot = pool.find(order.hash);
    if (slot < 0) slot = pool.allocate(order.hash);
    pool.describe(slot, { book: 0, side: order.side, outcome: YES, price: order.price, number: order.number });
    pool.setRemaining(slot, highWord(remaining), lowWord(remaining));
    this.book.rest(slot);
  }

  reduce(hash: string, size: bigint): void {
    const slot = this.pool.find(hash);
    this.book.reduce(slot, highWord(size), lowWord(size));
    if (!this.pool.resting(slot)) this.pool.free(slot);
  }

  increase(hash: string, size: bigint): void {
    this.book.increase(this.pool.find(hash), highWord(size), lowWord(size));
  }

  remove(hash: string): void {
    const slot = this.pool.find(hash);
    this.book.remove(slot);
    this.pool.free(slot);
  }

  walk(side: Side, price: number, size: bigint): Fill[] {
    const { pool, book } = this;
    const fills: Fill[] = [];
    const opposite = side === BUY ? SELL : BUY;
    let left = size;
    for (let rank = 0; rank < book.levels(opposite) && left > 0n; rank++) {
      const level = book.priceAt(opposite, rank);
      if (side === BUY ? level > price : level < price) break;
      for (let slot = book.firstAt(opposite, rank); slot >= 0 && left > 0n; slot = pool.next(slot)) {
        const remaining = pool.remaining(slot);
        const fill = remaining < left ? remaining : left;
        fills.push({ maker: pool.hashOf(slot), price: level, size: fill });
        left -= fill;
      }
    }
    return fills;
  }

  levels(side: Side): Level[] {
    return Array.from({ length: this.book.levels(side) }, (_, rank) => {
      const orders = [];
      for (let slot = this.book.firstAt(side, rank); slot >= 0; slot = this.pool.next(slot)) {
        orders.push({ hash: this.pool.hashOf(slot), number: this.pool.number(slot), remaining: this.pool.remaining(slot) });
      }
      return { price: this.book.priceAt(side, rank), size: this.book.sizeAt(side, rank), orders };
    });
  }

  best(side: Side): number | undefined {
    return this.book.levels(side) === 0 ? undefined : this.book.priceAt(side, 0);
  }

  dump(): { pool: OrderPoolDump; book: BookDump } {
    return { pool: this.pool.dump(), book: this.book.dump() };
  }

  /** The book that comes back from a snapshot's bytes. */
  throughSnapshot(): FastBook {
    const dump = deserialize(serialize(this.dump())) as ReturnType<FastBook['dump']>;
    const pool = OrderPool.restore(dump.pool);
    return new FastBook(pool, Book.restore(pool, dump.book));
  }
}
