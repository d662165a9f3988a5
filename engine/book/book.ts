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
/** Up to this many words a loop moves levels faster than a call of copyWithin. */
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
    if (levels.has(index, key)) {
      this.link(levels, index, slot);
    } else {
      levels.insert(index, key, slot);
      pool.enter(slot, -1, -1);
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
    const number = pool.number(slot);
    let older = levels.tail(index);
    while (older >= 0 && pool.number(older) > number) older = pool.previous(older);
    const younger = older < 0 ? levels.head(index) : pool.next(older);
    pool.enter(slot, older, younger);
    if (older < 0) levels.setHead(index, slot);
    else pool.setNext(older, slot);
    if (younger < 0) levels.setTail(index, slot);
    else pool.setPrevious(younger, slot);
  }

  private unlink(slot: number): void {
    const pool = this.pool;
    const older = pool.previous(slot);
    const younger = pool.next(slot);
    if (older >= 0) pool.setNext(older, younger);
    if (younger >= 0) pool.setPrevious(younger, older);
    if (older < 0 || younger < 0) {
      const levels = this.side(pool.side(slot));
      const index = levels.search(keyOf(pool, slot));
      if (older >= 0) levels.setTail(index, older);
      else if (younger >= 0) levels.setHead(index, younger);
      else levels.remove(index);
    }
    pool.leave(slot);
  }
}

/** The price as a number that is higher the better it is for the side's takers. */
function keyOf(pool: OrderPool, slot: number): number {
  return pool.side(slot) === BUY ? pool.price(slot) : -pool.price(slot);
}

/** A level: key, slot of the oldest order, slot of the youngest. */
const LEVEL_WORDS = 3;

/** A sorted array of levels, highest key last. */
class Levels {
  count = 0;
  private words = new Int32Array(FIRST_LEVELS * LEVEL_WORDS);

  keyAt(rank: number): number {
    return this.words[this.place(rank)]!;
  }

  headAt(rank: number): number {
    return this.words[this.place(rank) + 1]!;
  }

  /** Where the key is or belongs. */
  search(key: number): number {
    const words = this.words;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (words[middle * LEVEL_WORDS]! < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  has(index: number, key: number): boolean {
    return index < this.count && this.words[index * LEVEL_WORDS] === key;
  }

  head(index: number): number {
    return this.words[index * LEVEL_WORDS + 1]!;
  }

  tail(index: number): number {
    return this.words[index * LEVEL_WORDS + 2]!;
  }

  setHead(index: number, slot: number): void {
    this.words[index * LEVEL_WORDS + 1] = slot;
  }

  setTail(index: number, slot: number): void {
    this.words[index * LEVEL_WORDS + 2] = slot;
  }

  /** A new level with one order. */
  insert(index: number, key: number, slot: number): void {
    const end = this.count * LEVEL_WORDS;
    if (end === this.words.length) this.grow();
    const words = this.words;
    const at = index * LEVEL_WORDS;
    if (end - at > SHORT_MOVE) words.copyWithin(at + LEVEL_WORDS, at, end);
    else for (let i = end - 1; i >= at; i--) words[i + LEVEL_WORDS] = words[i]!;
    words[at] = key;
    words[at + 1] = slot;
    words[at + 2] = slot;
    this.count++;
  }

  remove(index: number): void {
    const words = this.words;
    const end = this.count * LEVEL_WORDS;
    const at = index * LEVEL_WORDS;
    if (end - at > SHORT_MOVE) words.copyWithin(at, at + LEVEL_WORDS, end);
    else for (let i = at + LEVEL_WORDS; i < end; i++) words[i - LEVEL_WORDS] = words[i]!;
    this.count--;
  }

  dump(): Int32Array {
    return this.words.slice(0, this.count * LEVEL_WORDS);
  }

  load(levels: Int32Array): void {
    this.count = levels.length / LEVEL_WORDS;
    this.words = new Int32Array(Math.max(FIRST_LEVELS * LEVEL_WORDS, levels.length));
    this.words.set(levels);
  }

  private place(rank: number): number {
    if (rank < 0 || rank >= this.count) throw new RangeError(`the side has ${this.count} levels, not one of rank ${rank}`);
    return (this.count - 1 - rank) * LEVEL_WORDS;
  }

  private grow(): void {
    const larger = new Int32Array(this.words.length * 2);
    larger.set(this.words);
    this.words = larger;
  }
}
