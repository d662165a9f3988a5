/** One market outcome's order book: both sides, price-time priority, over orders that a pool holds. */
import { BUY, type Side } from '../fields.js';
import type { OrderPool } from './order-pool.js';
import { uint64 } from './uint64.js';

/** A book as plain data; the orders themselves are in the pool's dump. */
export interface BookDump {
  readonly bids: Int32Array;
  readonly asks: Int32Array;
}

const FIRST_LEVELS = 4;
/** Up to here a loop moves levels faster than a call of copyWithin. */
const SHORT_MOVE = 32;

/**
 * A side is a sorted array of its active price levels, best last, where the trading is. Reading changes nothing, so orders can be
 * matched by walking (firstAt, then OrderPool.next) before anything is applied.
 */
export class Book {
  private readonly bids = new Levels();
  private readonly asks = new Levels();

  constructor(private readonly pool: OrderPool) {}

  /** Number of active price levels. */
  levels(side: Side): number {
    return this.side(side).count;
  }

  /** The price of a level; rank 0 is the best: the highest bid, the lowest ask. */
  priceAt(side: Side, rank: number): number {
    return Math.abs(this.side(side).keyAt(rank));
  }

  /** The slot of the oldest order of a level. */
  firstAt(side: Side, rank: number): number {
    return this.side(side).headAt(rank);
  }

  /** The exact total of a level, which may pass 2^64. Walks the level: the matching never needs it. */
  sizeAt(side: Side, rank: number): bigint {
    let total = 0n;
    for (let slot = this.firstAt(side, rank); slot >= 0; slot = this.pool.next(slot)) {
      total += uint64(this.pool.remainingHi(slot), this.pool.remainingLo(slot));
    }
    return total;
  }

  /**
   * Puts an order on the book at its side and price, behind the orders with lower numbers. Throws RangeError if it already rests
   * or nothing of it remains.
   */
  rest(slot: number): void {
    const pool = this.pool;
    if (pool.resting(slot)) throw new RangeError(`slot ${slot} rests already`);
    if (pool.remainingHi(slot) === 0 && pool.remainingLo(slot) === 0) throw new RangeError(`slot ${slot} has nothing left`);
    const levels = this.side(pool.side(slot));
    const key = keyOf(pool, slot);
    const index = levels.search(key);
    pool.enter(slot);
    if (levels.has(index, key)) {
      this.link(levels, index, slot);
    } else {
      levels.insert(index, key, slot);
      pool.setNext(slot, -1);
      pool.setPrevious(slot, slot);
    }
  }

  /** Takes (hi, lo) off a resting order; an order with nothing left leaves the book. Throws RangeError for more than remains. */
  reduce(slot: number, hi: number, lo: number): void {
    this.demandResting(slot);
    if (!this.pool.subtractRemaining(slot, hi, lo)) this.unlink(slot);
  }

  /** Gives (hi, lo) back to a resting order, which keeps its place. Throws RangeError beyond 2^64-1. */
  increase(slot: number, hi: number, lo: number): void {
    this.demandResting(slot);
    this.pool.addRemaining(slot, hi, lo);
  }

  /** Takes a resting order off the book with what it has. Throws RangeError if it does not rest. */
  remove(slot: number): void {
    this.demandResting(slot);
    this.unlink(slot);
  }

  dump(): BookDump {
    return { bids: this.bids.dump(), asks: this.asks.dump() };
  }

  /** The dumped book over the restored pool. */
  static restore(pool: OrderPool, dump: BookDump): Book {
    const book = new Book(pool);
    book.bids.load(dump.bids);
    book.asks.load(dump.asks);
    return book;
  }

  private side(side: Side): Levels {
    return side === BUY ? this.bids : this.asks;
  }

  private demandResting(slot: number): void {
    if (!this.pool.resting(slot)) throw new RangeError(`slot ${slot} does not rest`);
  }

  /** Links the order into its level by number: nearly always last, so the search starts there. */
  private link(levels: Levels, index: number, slot: number): void {
    const pool = this.pool;
    const head = levels.head(index);
    const number = pool.number(slot);
    const tail = pool.previous(head);
    let older = tail;
    while (pool.number(older) > number) {
      if (older === head) {
        pool.setNext(slot, head);
        pool.setPrevious(slot, tail);
        pool.setPrevious(head, slot);
        levels.setHead(index, slot);
        return;
      }
      older = pool.previous(older);
    }
    const younger = pool.next(older);
    pool.setNext(slot, younger);
    pool.setPrevious(slot, older);
    pool.setNext(older, slot);
    pool.setPrevious(younger < 0 ? head : younger, slot);
  }

  private unlink(slot: number): void {
    const pool = this.pool;
    const next = pool.next(slot);
    const previous = pool.previous(slot);
    if (pool.next(previous) !== slot) {
      const levels = this.side(pool.side(slot));
      const index = levels.search(keyOf(pool, slot));
      if (next < 0) {
        levels.remove(index);
      } else {
        levels.setHead(index, next);
        pool.setPrevious(next, previous);
      }
    } else {
      pool.setNext(previous, next);
      if (next >= 0) {
        pool.setPrevious(next, previous);
      } else {
        const levels = this.side(pool.side(slot));
        pool.setPrevious(levels.head(levels.search(keyOf(pool, slot))), previous);
      }
    }
    pool.leave(slot);
  }
}

/** The price as a number that is higher the better it is for the side's takers. */
function keyOf(pool: OrderPool, slot: number): number {
  return pool.side(slot) === BUY ? pool.price(slot) : -pool.price(slot);
}

/** A sorted array of pairs (key, slot of the oldest order), highest key last. */
class Levels {
  count = 0;
  private pairs = new Int32Array(FIRST_LEVELS * 2);

  keyAt(rank: number): number {
    return this.pairs[this.pair(rank)]!;
  }

  headAt(rank: number): number {
    return this.pairs[this.pair(rank) + 1]!;
  }

  /** Where the key is or belongs. */
  search(key: number): number {
    const pairs = this.pairs;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (pairs[middle << 1]! < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  has(index: number, key: number): boolean {
    return index < this.count && this.pairs[index << 1] === key;
  }

  head(index: number): number {
    return this.pairs[(index << 1) + 1]!;
  }

  setHead(index: number, slot: number): void {
    this.pairs[(index << 1) + 1] = slot;
  }

  insert(index: number, key: number, slot: number): void {
    const end = this.count << 1;
    if (end === this.pairs.length) this.grow();
    const pairs = this.pairs;
    const at = index << 1;
    if (end - at > SHORT_MOVE) pairs.copyWithin(at + 2, at, end);
    else for (let i = end - 1; i >= at; i--) pairs[i + 2] = pairs[i]!;
    pairs[at] = key;
    pairs[at + 1] = slot;
    this.count++;
  }

  remove(index: number): void {
    const pairs = this.pairs;
    const end = this.count << 1;
    const at = index << 1;
    if (end - at > SHORT_MOVE) pairs.copyWithin(at, at + 2, end);
    else for (let i = at + 2; i < end; i++) pairs[i - 2] = pairs[i]!;
    this.count--;
  }

  dump(): Int32Array {
    return this.pairs.slice(0, this.count << 1);
  }

  load(pairs: Int32Array): void {
    this.count = pairs.length >>> 1;
    this.pairs = new Int32Array(Math.max(FIRST_LEVELS * 2, pairs.length));
    this.pairs.set(pairs);
  }

  private pair(rank: number): number {
    if (rank < 0 || rank >= this.count) throw new RangeError(`the side has ${this.count} levels, not one of rank ${rank}`);
    return (this.count - 1 - rank) << 1;
  }

  private grow(): void {
    const larger = new Int32Array(this.pairs.length * 2);
    larger.set(this.pairs);
    this.pairs = larger;
  }
}
