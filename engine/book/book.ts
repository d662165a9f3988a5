/** The order book of one market outcome: both sides, by price-time priority. The orders themselves are in a pool. */
import { BUY, type Side } from '../records/fields.js';
import { Levels } from './levels.js';
import type { OrderPool } from './order-pool.js';
import {
  FLAGS, NEXT, PREVIOUS, REMAINING_HI, REMAINING_LO, RESTING, SIDE, addRemainingIn, numberIn, priorityIn, recordAt, subtractRemainingIn,
} from './order-record.js';
import { uint64 } from './uint64.js';

/** A book as plain data; the orders themselves are in the pool's dump. */
export interface BookDump {
  readonly bids: Int32Array;
  readonly asks: Int32Array;
}

/**
 * A side is a sorted array of its active price levels. The best level is last, because most changes are there. Reading changes nothing,
 * so a decision can walk the book (firstAt, then OrderPool.next) before its events are applied.
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
   * Puts an order on the book at its side and price, behind the orders with lower numbers. Throws RangeError if the order already rests
   * or its remaining size is 0.
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

  /** Subtracts (hi, lo) from a resting order; an order with nothing left leaves the book. Throws RangeError for more than remains. */
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
