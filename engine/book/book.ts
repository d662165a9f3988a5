/**
 * The order book of one market outcome: both sides with their price levels, by price-time priority. The orders
 * themselves are in a pool.
 */
import { BUY, type Side } from '../records/fields.js';
import type { OrderPool } from './order-pool.js';
import {
  FLAGS, NEXT, PREVIOUS, REMAINING_HI, REMAINING_LO, RESTING, SIDE, addRemainingIn, numberIn, priorityIn, recordAt,
  subtractRemainingIn,
} from './order-record.js';
import { uint64 } from '../records/integers.js';

/** A book as plain data; the orders themselves are in the pool's dump. */
export interface BookDump {
  readonly bids: Int32Array;
  readonly asks: Int32Array;
}

/**
 * A side is a sorted array of its active price levels. The best level is last, because most changes are there. Reading
 * changes nothing, so a decision can walk the book (firstAt, then OrderPool.next) before its events are applied.
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

  /** The exact total of a level, which may exceed 2^64. Walks the whole level; matching does not need the total. */
  sizeAt(side: Side, rank: number): bigint {
    let total = 0n;
    for (let slot = this.firstAt(side, rank); slot >= 0; slot = this.pool.next(slot)) {
      total += uint64(this.pool.remainingHi(slot), this.pool.remainingLo(slot));
    }
    return total;
  }

  /**
   * Puts an order on the book at its side and price, behind the orders with lower numbers. Throws RangeError if the
   * order already rests or its remaining size is 0.
   */
  rest(slot: number): void {
    const words = this.pool.words(slot);
    const base = recordAt(slot);
    if ((words[base + FLAGS]! & RESTING) !== 0) throw new RangeError(`slot ${slot} rests already`);
    if ((words[base + REMAINING_HI]! | words[base + REMAINING_LO]!) === 0) throw new RangeError(`slot ${slot} has nothing left`);
    const levels = this.levelsOf(words, base);
    const key = priorityIn(words, base);
    const index = levels.search(key);
    if (levels.has(index, key)) this.link(levels, index, slot);
    else levels.insert(index, key, slot);
    words[base + FLAGS]! |= RESTING;
  }

  /**
   * Subtracts (hi, lo) from a resting order; an order with nothing left leaves the book. Throws RangeError for more
   * than remains.
   */
  reduce(slot: number, hi: number, lo: number): void {
    const words = this.restingWords(slot);
    if (!subtractRemainingIn(words, recordAt(slot), hi, lo)) this.unlink(words, recordAt(slot));
  }

  /** Gives (hi, lo) back to a resting order, which keeps its place. Throws RangeError beyond 2^64-1. */
  increase(slot: number, hi: number, lo: number): void {
    addRemainingIn(this.restingWords(slot), recordAt(slot), hi, lo);
  }

  /** Takes a resting order off the book; its remaining size stays. Throws RangeError if the order does not rest. */
  remove(slot: number): void {
    this.unlink(this.restingWords(slot), recordAt(slot));
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

  private levelsOf(words: Int32Array, base: number): Levels {
    return (words[base + FLAGS]! & SIDE) === 0 ? this.bids : this.asks;
  }

  private restingWords(slot: number): Int32Array {
    const words = this.pool.words(slot);
    if ((words[recordAt(slot) + FLAGS]! & RESTING) === 0) throw new RangeError(`slot ${slot} does not rest`);
    return words;
  }

  /** Links the order into its level by number. The search starts at the end, where nearly all orders go. */
  private link(levels: Levels, index: number, slot: number): void {
    const { pool } = this;
    const words = pool.words(slot);
    const base = recordAt(slot);
    const number = numberIn(words, base);
    let older = levels.tail(index);
    let younger = -1;
    while (older >= 0 && pool.number(older) > number) {
      younger = older;
      older = pool.words(older)[recordAt(older) + PREVIOUS]! - 1;
    }
    words[base + PREVIOUS] = older + 1;
    words[base + NEXT] = younger + 1;
    if (older < 0) levels.setHead(index, slot);
    else this.setNext(older, slot);
    if (younger < 0) levels.setTail(index, slot);
    else this.setPrevious(younger, slot);
  }

  private unlink(words: Int32Array, base: number): void {
    const older = words[base + PREVIOUS]! - 1;
    const younger = words[base + NEXT]! - 1;
    if (older >= 0) this.setNext(older, younger);
    if (younger >= 0) this.setPrevious(younger, older);
    if (older < 0 || younger < 0) {
      const levels = this.levelsOf(words, base);
      const index = levels.search(priorityIn(words, base));
      if (older >= 0) levels.setTail(index, older);
      else if (younger >= 0) levels.setHead(index, younger);
      else levels.remove(index);
    }
    words[base + FLAGS]! &= ~RESTING;
    words[base + NEXT] = 0;
    words[base + PREVIOUS] = 0;
  }

  private setNext(slot: number, next: number): void {
    this.pool.words(slot)[recordAt(slot) + NEXT] = next + 1;
  }

  private setPrevious(slot: number, previous: number): void {
    this.pool.words(slot)[recordAt(slot) + PREVIOUS] = previous + 1;
  }
}

const FIRST_LEVELS = 4;
/** A side without levels has no memory of its own: most books are those of markets that are over. */
const NO_WORDS = new Int32Array(0);
/** Up to this many words, a loop moves levels faster than copyWithin. */
const SHORT_MOVE = 32;
/** A level: key, slot of the oldest order, slot of the youngest. */
const LEVEL_WORDS = 3;

/** A sorted array of levels, highest key last. */
export class Levels {
  count = 0;
  private words = NO_WORDS;

  keyAt(rank: number): number {
    return this.words[this.place(rank)]!;
  }

  headAt(rank: number): number {
    return this.words[this.place(rank) + 1]!;
  }

  /**
   * The index where the key is or belongs. Keys are whole ticks, so a key that is d below the best has at most d levels
   * above it. Where the levels are dense, as they are near the best, the first guess is right. From there the steps
   * double.
   */
  search(key: number): number {
    const words = this.words;
    const best = this.count - 1;
    if (best < 0) return 0;
    const distance = words[best * LEVEL_WORDS]! - key;
    if (distance < 0) return best + 1;
    let low = Math.max(0, best - distance);
    let high = low;
    for (let step = 1; high < best && words[high * LEVEL_WORDS]! < key; step *= 2) {
      low = high + 1;
      high = Math.min(best, high + step);
    }
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
    if (--this.count === 0) this.words = NO_WORDS;
  }

  dump(): Int32Array {
    return this.words.slice(0, this.count * LEVEL_WORDS);
  }

  load(levels: Int32Array): void {
    this.count = levels.length / LEVEL_WORDS;
    this.words = this.count === 0 ? NO_WORDS : Int32Array.from(levels);
  }

  private place(rank: number): number {
    if (rank < 0 || rank >= this.count) throw new RangeError(`the side has ${this.count} levels, not one of rank ${rank}`);
    return (this.count - 1 - rank) * LEVEL_WORDS;
  }

  private grow(): void {
    const larger = new Int32Array(Math.max(FIRST_LEVELS * LEVEL_WORDS, this.words.length * 2));
    larger.set(this.words);
    this.words = larger;
  }
}
