/** The order book's rules, on the engine's book and on a naive one, and both compared under random commands. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BUY, SELL, YES, type Side } from '../../engine/records/fields.js';
import { randomHash, seeded } from '../bench/book-operations.js';
import { FastBook, NaiveBook, type AnyBook, type Fill, type Order } from '../reference/naive-book.js';

const MAX = 2n ** 64n - 1n;
const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}`;
const order = (n: number, side: Side, price: number): Order => ({ hash: hash(n), side, price, number: n });
const shown = (n: number, remaining: bigint) => ({ hash: hash(n), number: n, remaining });

for (const [name, make] of [['naive', () => new NaiveBook()], ['fast', () => new FastBook()]] as [string, () => AnyBook][]) {
  describe(`book rules, ${name} book`, () => {
    let book: AnyBook;
    beforeEach(() => { book = make(); });

    it('sorts bids down, asks up, and orders of a level by number, whenever they come to rest', () => {
      for (const [n, price] of [[5, 10], [9, 12], [7, 10], [3, 11], [1, 10], [6, 10]] as const) {
        book.rest(order(n, BUY, price), BigInt(n));
        book.rest(order(n + 100, SELL, price + 100), BigInt(n));
      }
      const levels = (offset: number, price: number, numbers: number[]) => ({
        price, size: BigInt(numbers.reduce((a, b) => a + b)), orders: numbers.map((n) => shown(n + offset, BigInt(n))),
      });
      assert.deepEqual(book.levels(BUY), [levels(0, 12, [9]), levels(0, 11, [3]), levels(0, 10, [1, 5, 6, 7])]);
      assert.deepEqual(book.levels(SELL), [levels(100, 110, [1, 5, 6, 7]), levels(100, 111, [3]), levels(100, 112, [9])]);
    });

    it('an order with nothing left leaves, and so does a level with no order', () => {
      book.rest(order(1, SELL, 10), 5n);
      book.rest(order(2, SELL, 10), 7n);
      book.rest(order(3, SELL, 11), 1n);
      book.reduce(hash(1), 4n);
      book.reduce(hash(2), 7n);
      assert.deepEqual(book.levels(SELL), [
        { price: 10, size: 1n, orders: [shown(1, 1n)] }, { price: 11, size: 1n, orders: [shown(3, 1n)] },
      ]);
      book.reduce(hash(1), 1n);
      book.remove(hash(3));
      assert.deepEqual(book.levels(SELL), []);
    });

    it('a level\'s total passes 2^64 without loss, and an order holds 2^64-1', () => {
      for (let n = 1; n <= 3; n++) book.rest(order(n, BUY, 1), MAX);
      book.reduce(hash(2), MAX - 1n);
      book.increase(hash(2), 2n ** 32n);
      assert.deepEqual(book.levels(BUY), [{
        price: 1, size: 2n * MAX + 2n ** 32n + 1n, orders: [shown(1, MAX), shown(2, 2n ** 32n + 1n), shown(3, MAX)],
      }]);
    });

    it('an order that left can come back to its old place', () => {
      for (let n = 1; n <= 3; n++) book.rest(order(n, SELL, 999_999), BigInt(n));
      book.reduce(hash(1), 1n);
      book.remove(hash(2));
      book.rest(order(2, SELL, 999_999), 8n);
      book.rest(order(1, SELL, 999_999), 9n);
      assert.deepEqual(book.levels(SELL)[0]!.orders, [shown(1, 9n), shown(2, 8n), shown(3, 3n)]);
    });

    it('a walk takes the best price first, then the lowest number, and changes nothing', () => {
      book.rest(order(1, SELL, 11), 5n);
      book.rest(order(3, SELL, 10), 2n);
      book.rest(order(2, SELL, 10), 1n);
      book.rest(order(4, SELL, 12), 9n);
      const before = book.levels(SELL);
      assert.deepEqual(book.walk(BUY, 11, 6n), [
        { maker: hash(2), price: 10, size: 1n }, { maker: hash(3), price: 10, size: 2n }, { maker: hash(1), price: 11, size: 3n },
      ]);
      assert.deepEqual(book.walk(BUY, 9, 6n), []);
      assert.deepEqual(book.levels(SELL), before);
    });
  });
}

/** Drives two books with the same seeded commands and compares all that they answer. */
class Comparison {
  readonly naive = new NaiveBook();
  /** Every order that ever rested and has left since: it may come back with its old number. */
  private readonly left: Order[] = [];
  private readonly resting = new Map<string, { order: Order; remaining: bigint }>();
  private number = 0;

  constructor(public fast: FastBook, private readonly random: () => number) {}

  step(): void {
    // About sixty orders rest: deep enough for every path, and the naive book stays quick.
    const dice = this.resting.size > 60 ? 1 : this.random();
    if (dice < 0.5) this.place(this.newOrder(), this.size());
    else if (dice < 0.6 && this.left.length > 0) this.place(this.takeLeft(), this.size());
    else this.change(dice);
    const bid = this.fast.best(BUY);
    const ask = this.fast.best(SELL);
    assert.ok(bid === undefined || ask === undefined || bid < ask, `crossed: ${bid} and ${ask}`);
  }

  compare(): void {
    for (const side of [BUY, SELL] as const) assert.deepEqual(this.fast.levels(side), this.naive.levels(side));
    assert.equal(this.fast.pool.size, this.resting.size);
  }

  /** Matches what crosses, applies the fills, and rests the remainder: as the engine does. */
  private place(order: Order, size: bigint): void {
    const fills = this.naive.walk(order.side, order.price, size);
    assert.deepEqual(this.fast.walk(order.side, order.price, size), fills);
    for (const fill of fills) this.apply(fill);
    const remaining = fills.reduce((left, fill) => left - fill.size, size);
    if (remaining === 0n) return;
    for (const book of this.books()) book.rest(order, remaining);
    this.resting.set(order.hash, { order, remaining });
  }

  private apply(fill: Fill): void {
    for (const book of this.books()) book.reduce(fill.maker, fill.size);
    const maker = this.resting.get(fill.maker)!;
    maker.remaining -= fill.size;
    if (maker.remaining === 0n) this.leave(fill.maker);
  }

  private change(dice: number): void {
    const hashes = [...this.resting.keys()];
    const chosen = hashes[Math.floor(this.random() * hashes.length)];
    if (chosen === undefined) return;
    const entry = this.resting.get(chosen)!;
    if (dice < 0.7 && entry.remaining < MAX) {
      const more = min(this.size(), MAX - entry.remaining);
      for (const book of this.books()) book.increase(chosen, more);
      entry.remaining += more;
    } else {
      for (const book of this.books()) book.remove(chosen);
      this.leave(chosen);
    }
  }

  private leave(hash: string): void {
    this.left.push(this.resting.get(hash)!.order);
    this.resting.delete(hash);
    if (this.left.length > 50) this.left.shift();
  }

  private takeLeft(): Order {
    return this.left.splice(Math.floor(this.random() * this.left.length), 1)[0]!;
  }

  private newOrder(): Order {
    const side: Side = this.random() < 0.5 ? BUY : SELL;
    // Few prices make long levels; most orders do not cross, so that the book stays deep; the ends of the range occur.
    const ticks = Math.floor(this.random() * 12) - 2;
    const price = this.random() < 0.01 ? [1, 999_999][Math.floor(this.random() * 2)]! : 500_000 + (side === BUY ? -ticks : ticks);
    return { hash: randomHash(this.random), side, price, number: this.number++ };
  }

  private size(): bigint {
    const extremes = [1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n + 1n, MAX - 1n, MAX];
    const dice = this.random();
    if (dice < 0.03) return extremes[Math.floor(this.random() * extremes.length)]!;
    return BigInt(1 + Math.floor(this.random() * (dice < 0.06 ? 2 ** 50 : 1_000)));
  }

  private books(): AnyBook[] {
    return [this.naive, this.fast];
  }
}

const min = (a: bigint, b: bigint) => a < b ? a : b;

describe('book, compared with the naive one', () => {
  it('does the same under 100,000 random commands, through snapshots, and is never crossed', () => {
    const comparison = new Comparison(new FastBook(), seeded(7));
    for (let i = 1; i <= 100_000; i++) {
      comparison.step();
      if (i % 250 === 0) comparison.compare();
      if (i % 10_000 === 0) comparison.fast = comparison.fast.throughSnapshot();
    }
    comparison.compare();
  });

  it('does the same for any seed (property)', () => {
    fc.assert(fc.property(fc.integer(), fc.integer({ min: 1, max: 150 }), (seed, commands) => {
      const comparison = new Comparison(new FastBook(), seeded(seed));
      for (let i = 0; i < commands; i++) {
        comparison.step();
        comparison.compare();
      }
    }), { numRuns: 100 });
  });

  it('a restored book goes on exactly as the original: the same slots, the same dump', () => {
    const original = new Comparison(new FastBook(), seeded(11));
    for (let i = 0; i < 5_000; i++) original.step();
    const restored = original.fast.throughSnapshot();
    assert.deepEqual(restored.dump(), original.fast.dump());
    const random = seeded(12);
    for (let i = 0; i < 2_000; i++) {
      const price = 499_990 + Math.floor(random() * 30);
      const placed = { hash: randomHash(random), side: i % 2 as Side, price, number: 1_000_000 + i };
      const fills = original.fast.walk(placed.side, placed.price, 1_000n);
      for (const book of [original.fast, restored]) {
        for (const fill of fills) book.reduce(fill.maker, fill.size);
        const left = fills.reduce((sum, fill) => sum - fill.size, 1_000n);
        if (left > 0n) book.rest(placed, left);
      }
    }
    assert.deepEqual(restored.dump(), original.fast.dump());
  });
});

describe('book, refusals', () => {
  it('refuses what would corrupt it, and stays as it was', () => {
    const { pool, book } = new FastBook();
    const slot = pool.allocate(hash(1));
    pool.describe(slot, { book: 0, side: BUY, outcome: YES, price: 5, number: 1 });
    assert.throws(() => { book.rest(slot); }, /nothing left/);
    assert.throws(() => { book.reduce(slot, 0, 1); }, /does not rest/);
    assert.throws(() => { book.increase(slot, 0, 1); }, /does not rest/);
    assert.throws(() => { book.remove(slot); }, /does not rest/);
    pool.setRemaining(slot, 1, 0);
    book.rest(slot);
    const before = structuredClone({ pool: pool.dump(), book: book.dump() });
    assert.throws(() => { book.rest(slot); }, /rests already/);
    assert.throws(() => { book.reduce(slot, 1, 1); }, /more was taken/);
    assert.throws(() => { book.increase(slot, 0xffff_ffff, 0); }, /2\^64-1/);
    assert.throws(() => { pool.free(slot); }, /resting/);
    assert.throws(() => book.priceAt(BUY, 1), /levels/);
    assert.throws(() => book.firstAt(SELL, 0), /levels/);
    assert.deepEqual({ pool: pool.dump(), book: book.dump() }, before);
  });
});
