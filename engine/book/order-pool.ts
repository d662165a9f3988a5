/** The storage of all orders of an engine, open ones and closed ones that it still remembers: one record each, found by hash. */
import { BUY, NO, SELL, YES, type Outcome, type Side } from '../fields.js';
import { CHUNK_BITS, CHUNK_SLOTS, Columns, type Column, type ColumnKind } from './columns.js';
import { HashIndex, mix32 } from './hash-index.js';
import { HASH_WORDS, formatHash, readHash } from './order-hash.js';
import { uint64 } from './uint64.js';

export type { Column } from './columns.js';

/*
 * An order's record is 16 words, one cache line: a thousand books under load touch an order in one memory access, where an array
 * for each value would make it ten. Words 0 to 7 are the hash. A free slot's record is zero but for NEXT, which links the free
 * list.
 */
const RECORD_BITS = 4;
const CHUNK_MASK = CHUNK_SLOTS - 1;
const FLAGS = 8;
const BOOK = 9;
const NUMBER_HI = 10;
const NUMBER_LO = 11;
const REMAINING_HI = 12;
const REMAINING_LO = 13;
const NEXT = 14;
const PREVIOUS = 15;

const PRICE_MASK = 0xf_ffff;
const SIDE = 1 << 20;
const OUTCOME = 1 << 21;
const RESTING = 1 << 22;
const IN_USE = 1 << 23;

const WORD = 2 ** 32;

/** A pool as plain data. It shares memory with the pool: serialise it before the pool changes. */
export interface OrderPoolDump {
  readonly high: number;
  readonly freeHead: number;
  readonly chunks: readonly Int32Array[];
  readonly stride: number;
  readonly columns: readonly Int32Array[];
}

export class OrderPool {
  private readonly chunks: Int32Array[] = [];
  private readonly index = new HashIndex();
  private readonly key = new Int32Array(HASH_WORDS);
  /** Slots that were ever in use. */
  private high = 0;
  /** The slot that was freed last, plus 1; 0 if none is free. */
  private freeHead = 0;
  private readonly columns = new Columns();

  /** Slots in use. */
  get size(): number {
    return this.index.size;
  }

  /** The slots in use, in ascending order. */
  * slots(): Generator<number> {
    for (let slot = 0; slot < this.high; slot++) {
      if ((this.words(slot)[at(slot) + FLAGS]! & IN_USE) !== 0) yield slot;
    }
  }

  /**
   * A slot for the order, all its values zero: the one freed last, else the next never used. Throws RangeError for a malformed
   * hash or one that is in use.
   */
  allocate(orderHash: string): number {
    if (this.find(orderHash) >= 0) throw new RangeError(`order ${orderHash} has a slot already`);
    let slot = this.freeHead - 1;
    if (slot >= 0) {
      this.freeHead = this.words(slot)[at(slot) + NEXT]!;
    } else {
      slot = this.high++;
      if (slot >>> CHUNK_BITS === this.chunks.length) this.chunks.push(new Int32Array(CHUNK_SLOTS << RECORD_BITS));
      this.columns.extendTo(slot);
    }
    const words = this.words(slot);
    const base = at(slot);
    for (let i = 0; i < HASH_WORDS; i++) words[base + i] = this.key[i]!;
    words[base + FLAGS] = IN_USE;
    words[base + NEXT] = 0;
    this.index.insert(hashOfWords(words, base), slot);
    return slot;
  }

  /** Gives the slot back. Throws RangeError for a slot that is free or whose order stands on a book. */
  free(slot: number): void {
    const words = this.words(slot);
    const base = at(slot);
    if ((words[base + FLAGS]! & (IN_USE | RESTING)) !== IN_USE) throw new RangeError(`slot ${slot} is free or resting`);
    this.index.remove(hashOfWords(words, base), slot);
    words.fill(0, base, base + (1 << RECORD_BITS));
    this.columns.clear(slot);
    words[base + NEXT] = this.freeHead;
    this.freeHead = slot + 1;
  }

  /** The order's slot, or -1. All 32 bytes are compared. Throws RangeError for a malformed hash. */
  find(orderHash: string): number {
    const key = this.key;
    readHash(orderHash, key);
    const hash = hashOfWords(key, 0);
    for (let slot = this.index.first(hash); slot >= 0; slot = this.index.after(hash, slot)) {
      if (sameHash(this.words(slot), at(slot), key)) return slot;
    }
    return -1;
  }

  /** `0x` and 64 hex digits. */
  hashOf(slot: number): string {
    return formatHash(this.words(slot), at(slot));
  }

  price(slot: number): number {
    return this.words(slot)[at(slot) + FLAGS]! & PRICE_MASK;
  }

  side(slot: number): Side {
    return (this.words(slot)[at(slot) + FLAGS]! & SIDE) === 0 ? BUY : SELL;
  }

  outcome(slot: number): Outcome {
    return (this.words(slot)[at(slot) + FLAGS]! & OUTCOME) === 0 ? YES : NO;
  }

  /** Whether the order stands on a book. */
  resting(slot: number): boolean {
    return (this.words(slot)[at(slot) + FLAGS]! & RESTING) !== 0;
  }

  /** The caller's number of the book that the order belongs to. */
  book(slot: number): number {
    return this.words(slot)[at(slot) + BOOK]! >>> 0;
  }

  /** The order's number: the log position of its PlaceOrder, its time priority. */
  number(slot: number): number {
    const words = this.words(slot);
    const base = at(slot);
    return (words[base + NUMBER_HI]! >>> 0) * WORD + (words[base + NUMBER_LO]! >>> 0);
  }

  remainingHi(slot: number): number {
    return this.words(slot)[at(slot) + REMAINING_HI]! >>> 0;
  }

  remainingLo(slot: number): number {
    return this.words(slot)[at(slot) + REMAINING_LO]! >>> 0;
  }

  remaining(slot: number): bigint {
    return uint64(this.remainingHi(slot), this.remainingLo(slot));
  }

  setPrice(slot: number, price: number): void {
    this.setFlags(slot, PRICE_MASK, price & PRICE_MASK);
  }

  setSide(slot: number, side: Side): void {
    this.setFlags(slot, SIDE, side === BUY ? 0 : SIDE);
  }

  setOutcome(slot: number, outcome: Outcome): void {
    this.setFlags(slot, OUTCOME, outcome === YES ? 0 : OUTCOME);
  }

  setBook(slot: number, book: number): void {
    this.words(slot)[at(slot) + BOOK] = book;
  }

  setNumber(slot: number, number: number): void {
    const words = this.words(slot);
    const base = at(slot);
    words[base + NUMBER_HI] = number / WORD;
    words[base + NUMBER_LO] = number;
  }

  setRemaining(slot: number, hi: number, lo: number): void {
    const words = this.words(slot);
    const base = at(slot);
    words[base + REMAINING_HI] = hi;
    words[base + REMAINING_LO] = lo;
  }

  /** remaining += (hi, lo). Throws RangeError beyond 2^64-1, and then changes nothing. Of a resting order: Book.increase. */
  addRemaining(slot: number, hi: number, lo: number): void {
    const words = this.words(slot);
    const base = at(slot);
    const sumLo = (words[base + REMAINING_LO]! >>> 0) + lo;
    const sumHi = (words[base + REMAINING_HI]! >>> 0) + hi + (sumLo >= WORD ? 1 : 0);
    if (sumHi >= WORD) throw new RangeError(`slot ${slot}: the remaining size would pass 2^64-1`);
    words[base + REMAINING_HI] = sumHi;
    words[base + REMAINING_LO] = sumLo;
  }

  /**
   * remaining -= (hi, lo); whether that leaves anything. Throws RangeError below 0, and then changes nothing. Of a resting order:
   * Book.reduce.
   */
  subtractRemaining(slot: number, hi: number, lo: number): boolean {
    const words = this.words(slot);
    const base = at(slot);
    const restLo = (words[base + REMAINING_LO]! >>> 0) - lo;
    const restHi = (words[base + REMAINING_HI]! >>> 0) - hi - (restLo < 0 ? 1 : 0);
    if (restHi < 0) throw new RangeError(`slot ${slot}: more was taken than remains`);
    words[base + REMAINING_HI] = restHi;
    words[base + REMAINING_LO] = restLo;
    return (restHi | restLo) !== 0;
  }

  /** The next younger order of the same level, or -1. */
  next(slot: number): number {
    return this.words(slot)[at(slot) + NEXT]! - 1;
  }

  /** The next older order of the same level, or -1. */
  previous(slot: number): number {
    return this.words(slot)[at(slot) + PREVIOUS]! - 1;
  }

  /** For Book only. */
  setNext(slot: number, next: number): void {
    this.words(slot)[at(slot) + NEXT] = next + 1;
  }

  /** For Book only. */
  setPrevious(slot: number, previous: number): void {
    this.words(slot)[at(slot) + PREVIOUS] = previous + 1;
  }

  /** For Book only: marks the order as resting between two others of its level; -1 for none. */
  enter(slot: number, older: number, younger: number): void {
    const words = this.words(slot);
    const base = at(slot);
    words[base + FLAGS]! |= RESTING;
    words[base + PREVIOUS] = older + 1;
    words[base + NEXT] = younger + 1;
  }

  /** For Book only: the order rests no more. */
  leave(slot: number): void {
    const words = this.words(slot);
    const base = at(slot);
    words[base + FLAGS]! &= ~RESTING;
    words[base + NEXT] = 0;
    words[base + PREVIOUS] = 0;
  }

  /**
   * Hangs a further value on every slot, stored as an element of `kind` would be. All columns are declared before the first
   * allocate, and after restore again, in the same order.
   */
  column(kind: ColumnKind): Column {
    return this.columns.column(kind);
  }

  dump(): OrderPoolDump {
    const { stride, words } = this.columns;
    return { high: this.high, freeHead: this.freeHead, chunks: this.chunks, stride, columns: words };
  }

  /** A pool that behaves as the dumped one would from there on, slot numbers included. */
  static restore(dump: OrderPoolDump): OrderPool {
    const pool = new OrderPool();
    pool.high = dump.high;
    pool.freeHead = dump.freeHead;
    for (const chunk of dump.chunks) pool.chunks.push(chunk.slice());
    pool.columns.load(dump.stride, dump.columns);
    for (let slot = 0; slot < pool.high; slot++) {
      const words = pool.words(slot);
      if ((words[at(slot) + FLAGS]! & IN_USE) !== 0) pool.index.insert(hashOfWords(words, at(slot)), slot);
    }
    return pool;
  }

  private words(slot: number): Int32Array {
    return this.chunks[slot >>> CHUNK_BITS]!;
  }

  private setFlags(slot: number, mask: number, bits: number): void {
    const words = this.words(slot);
    const index = at(slot) + FLAGS;
    words[index] = (words[index]! & ~mask) | bits;
  }
}

/** Where a slot's record starts in its chunk. */
function at(slot: number): number {
  return (slot & CHUNK_MASK) << RECORD_BITS;
}

function hashOfWords(words: Int32Array, base: number): number {
  return mix32(words[base]! ^ Math.imul(words[base + HASH_WORDS - 1]!, 0x9e37_79b1));
}

function sameHash(words: Int32Array, base: number, key: Int32Array): boolean {
  for (let i = 0; i < HASH_WORDS; i++) {
    if (words[base + i] !== key[i]) return false;
  }
  return true;
}
