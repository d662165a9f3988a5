/** Matching with the book's primitives as the engine does it: a walk that only reads, then each of its fills applied. */
import { Book } from '../../engine/book/book.js';
import { OrderPool, type BookOrder } from '../../engine/book/order-pool.js';
import { BUY, type Side } from '../../engine/records/fields.js';

/** An order's hash: eight words of `keys` from `from` on. */
export interface Key {
  readonly keys: Int32Array;
  readonly from: number;
}

export interface Place extends Key, BookOrder {
  readonly sizeHi: number;
  readonly sizeLo: number;
}

const WORD = 2 ** 32;

export class Matching {
  readonly pool = new OrderPool();
  readonly books: readonly Book[];
  /** The fills of the last walk: slot of the maker, size. */
  readonly makers = new Int32Array(10_000);
  fills = 0;
  private readonly sizes = new Uint32Array(20_000);
  private leftHi = 0;
  private leftLo = 0;

  constructor(books: number) {
    this.books = Array.from({ length: books }, () => new Book(this.pool));
  }

  place(order: Place): void {
    this.walk(order);
    this.apply(order);
  }

  /** The order's fills, without changing anything. */
  walk(order: Place): void {
    const { pool } = this;
    const book = this.books[order.book]!;
    const opposite: Side = order.side === BUY ? 1 : 0;
    let hi = order.sizeHi;
    let lo = order.sizeLo;
    let fills = 0;
    const levels = book.levels(opposite);
    for (let rank = 0; rank < levels && (hi | lo) !== 0; rank++) {
      const price = book.priceAt(opposite, rank);
      if (order.side === BUY ? price > order.price : price < order.price) break;
      for (let slot = book.firstAt(opposite, rank); slot >= 0 && (hi | lo) !== 0; slot = pool.next(slot)) {
        const makerHi = pool.remainingHi(slot);
        const makerLo = pool.remainingLo(slot);
        const makerIsSmaller = makerHi < hi || (makerHi === hi && makerLo < lo);
        const fillHi = makerIsSmaller ? makerHi : hi;
        const fillLo = makerIsSmaller ? makerLo : lo;
        this.makers[fills] = slot;
        this.sizes[fills * 2] = fillHi;
        this.sizes[fills * 2 + 1] = fillLo;
        fills++;
        hi -= fillHi + (lo < fillLo ? 1 : 0);
        lo = lo < fillLo ? lo - fillLo + WORD : lo - fillLo;
      }
    }
    this.fills = fills;
    this.leftHi = hi;
    this.leftLo = lo;
  }

  /** Applies the last walk: makers shrink or leave, and what is left of the order rests. */
  apply(order: Place): void {
    const { pool } = this;
    const book = this.books[order.book]!;
    for (let i = 0; i < this.fills; i++) {
      const maker = this.makers[i]!;
      book.reduce(maker, this.sizes[i * 2]!, this.sizes[i * 2 + 1]!);
      if (!pool.resting(maker)) pool.free(maker);
    }
    if ((this.leftHi | this.leftLo) === 0) {
      if (pool.findKey(order.keys, order.from) >= 0) throw new Error(`order ${order.number} came twice`);
      return;
    }
    const slot = pool.allocateKey(order.keys, order.from);
    pool.describe(slot, order);
    pool.setRemaining(slot, this.leftHi, this.leftLo);
    book.rest(slot);
  }

  /** Takes a resting order off its book. */
  cancel(order: Key): void {
    const { pool } = this;
    const slot = pool.findKey(order.keys, order.from);
    if (slot < 0) throw new Error('no such order');
    this.books[pool.book(slot)]!.remove(slot);
    pool.free(slot);
  }
}
