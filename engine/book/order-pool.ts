/** The storage of all orders that an engine has in memory, open and closed: one record per order, found by hash. */
import { BUY, NO, SELL, YES, type MarketOutcome, type Side } from '../records/fields.js';
import {
  CHUNK_BITS, CHUNK_SLOTS, Columns, addRemainingIn, BOOK, FLAGS, formatHash, HASH_WORDS, IN_USE, NEXT, NUMBER_HI,
  NUMBER_LO, numberIn, OUTCOME, PREVIOUS, PRICE_MASK, readHash, RECORD_BITS, recordAt, REMAINING_HI, REMAINING_LO,
  RESTING, SIDE, subtractRemainingIn, type Column, type ColumnKind,
} from './order-record.js';
import { HashIndex, mix32 } from './hash-index.js';
import { uint64 } from '../records/integers.js';

export type { Column } from './order-record.js';

const WORD = 2 ** 32;

/** A pool as plain data. The dump shares memory with the pool: serialise the dump before the pool changes. */
export interface OrderPoolDump {
  readonly high: number;
  readonly freeHead: number;
  readonly chunks: readonly Int32Array[];
  readonly stride: number;
  readonly columns: readonly Int32Array[];
}

/** What the book needs to know about an order, besides its hash and remaining size. */
export interface BookOrder {
  /** The caller's number of the book that the order belongs to. */
  readonly book: number;
  readonly side: Side;
  readonly outcome: MarketOutcome;
  /** In ticks. */
  readonly price: number;
  /** The log position of the order's PlaceOrder, which is its time priority. */
  readonly number: number;
}

export class OrderPool {
  private readonly chunks: Int32Array[] = [];
  private index = new HashIndex();
  /** The last hash that was read, as words and as text. */
  private readonly key = new Int32Array(HASH_WORDS);
  private keyText: string | undefined;
  /** The number of slots that were ever in use. */
  private high = 0;
  /** The last freed slot, plus 1; 0 if no slot is free. */
  private freeHead = 0;
  private readonly columns = new Columns();

  /** The number of slots in use. */
  get size(): number {
    return this.index.size;
  }

  /** The slots in use, in ascending order. */
  * slots(): Generator<number> {
    for (let slot = 0; slot < this.high; slot++) if (this.isUsed(slot)) yield slot;
  }

  /** An index of the slots in use by a hash of each; without those that `has` leaves out. */
  indexed(hashOf: (slot: number) => number, has: (slot: number) => boolean = () => true): HashIndex {
    const [hashes, slots] = [new Int32Array(this.high), new Int32Array(this.high)];
    let count = 0;
    for (let slot = 0; slot < this.high; slot++) {
      if (!this.isUsed(slot) || !has(slot)) continue;
      hashes[count] = hashOf(slot);
      slots[count++] = slot;
    }
    return HashIndex.of(hashes.subarray(0, count), slots.subarray(0, count));
  }

  /**
   * A slot for the order, with all values 0: the last freed slot, otherwise the next unused one. Throws RangeError for
   * a malformed hash, and for a hash that has a slot already.
   */
  allocate(orderHash: string): number {
    return this.allocateKey(this.keyOf(orderHash), 0);
  }

  /** Like allocate, for a hash given as eight words in `key` from index `from` on. */
  allocateKey(key: Int32Array, from: number): number {
    const hash = hashOfWords(key, from);
    if (this.search(hash, key, from) >= 0) throw new RangeError(`order ${formatHash(key, from)} has a slot already`);
    const slot = this.takeSlot();
    const words = this.words(slot);
    const base = recordAt(slot);
    for (let i = 0; i < HASH_WORDS; i++) words[base + i] = key[from + i]!;
    words[base + FLAGS] = IN_USE;
    words[base + BOOK] = 0;
    words[base + NUMBER_HI] = 0;
    words[base + NUMBER_LO] = 0;
    words[base + REMAINING_HI] = 0;
    words[base + REMAINING_LO] = 0;
    words[base + NEXT] = 0;
    words[base + PREVIOUS] = 0;
    this.index.insert(hash, slot);
    return slot;
  }

  /** Frees the slot. Throws RangeError for a slot that is free or whose order is on a book. */
  free(slot: number): void {
    const words = this.words(slot);
    const base = recordAt(slot);
    if ((words[base + FLAGS]! & (IN_USE | RESTING)) !== IN_USE) throw new RangeError(`slot ${slot} is free or resting`);
    this.index.remove(hashOfWords(words, base), slot);
    this.columns.clear(slot);
    words[base + FLAGS] = 0;
    words[base + NEXT] = this.freeHead;
    this.freeHead = slot + 1;
  }

  /** The order's slot, or -1. All 32 bytes are compared. Throws RangeError for a malformed hash. */
  find(orderHash: string): number {
    return this.findKey(this.keyOf(orderHash), 0);
  }

  /** Like find, for a hash given as eight words in `key` from index `from` on. */
  findKey(key: Int32Array, from: number): number {
    return this.search(hashOfWords(key, from), key, from);
  }

  /** `0x` and 64 hex digits. */
  hashOf(slot: number): string {
    return formatHash(this.words(slot), recordAt(slot));
  }

  price(slot: number): number {
    return this.words(slot)[recordAt(slot) + FLAGS]! & PRICE_MASK;
  }

  side(slot: number): Side {
    return (this.words(slot)[recordAt(slot) + FLAGS]! & SIDE) === 0 ? BUY : SELL;
  }

  outcome(slot: number): MarketOutcome {
    return (this.words(slot)[recordAt(slot) + FLAGS]! & OUTCOME) === 0 ? YES : NO;
  }

  /** Whether the order is on a book. */
  resting(slot: number): boolean {
    return (this.words(slot)[recordAt(slot) + FLAGS]! & RESTING) !== 0;
  }

  /** The caller's number of the book that the order belongs to. */
  book(slot: number): number {
    return this.words(slot)[recordAt(slot) + BOOK]! >>> 0;
  }

  /** The order's number: the log position of its PlaceOrder, its time priority. */
  number(slot: number): number {
    return numberIn(this.words(slot), recordAt(slot));
  }

  remainingHi(slot: number): number {
    return this.words(slot)[recordAt(slot) + REMAINING_HI]! >>> 0;
  }

  remainingLo(slot: number): number {
    return this.words(slot)[recordAt(slot) + REMAINING_LO]! >>> 0;
  }

  remaining(slot: number): bigint {
    return uint64(this.remainingHi(slot), this.remainingLo(slot));
  }

  /** Sets the facts of an order that does not rest. */
  describe(slot: number, facts: BookOrder): void {
    const words = this.words(slot);
    const base = recordAt(slot);
    words[base + FLAGS] = IN_USE | (facts.side === BUY ? 0 : SIDE) | (facts.outcome === YES ? 0 : OUTCOME) | (facts.price & PRICE_MASK);
    words[base + BOOK] = facts.book;
    words[base + NUMBER_HI] = facts.number / WORD;
    words[base + NUMBER_LO] = facts.number;
  }

  setRemaining(slot: number, hi: number, lo: number): void {
    const words = this.words(slot);
    const base = recordAt(slot);
    words[base + REMAINING_HI] = hi;
    words[base + REMAINING_LO] = lo;
  }

  /**
   * remaining += (hi, lo). Throws RangeError beyond 2^64-1, and then changes nothing. For a resting order use
   * Book.increase.
   */
  addRemaining(slot: number, hi: number, lo: number): void {
    addRemainingIn(this.words(slot), recordAt(slot), hi, lo);
  }

  /**
   * remaining -= (hi, lo); returns whether anything remains. Throws RangeError below 0, and then changes nothing. For a
   * resting order use Book.reduce.
   */
  subtractRemaining(slot: number, hi: number, lo: number): boolean {
    return subtractRemainingIn(this.words(slot), recordAt(slot), hi, lo);
  }

  /** The next younger order of the same level, or -1. */
  next(slot: number): number {
    return this.words(slot)[recordAt(slot) + NEXT]! - 1;
  }

  /**
   * Adds a further value to every slot, stored like an element of `kind`. Declare all columns before the first
   * allocate, and after a restore declare them again in the same order.
   */
  column(kind: ColumnKind): Column {
    return this.columns.column(kind);
  }

  dump(): OrderPoolDump {
    const { stride, words } = this.columns;
    return { high: this.high, freeHead: this.freeHead, chunks: this.chunks, stride, columns: words };
  }

  /** A pool that behaves like the dumped one from then on, including slot numbers. The dump's memory is the pool's. */
  static restore(dump: OrderPoolDump): OrderPool {
    const pool = new OrderPool();
    pool.high = dump.high;
    pool.freeHead = dump.freeHead;
    for (const chunk of dump.chunks) pool.chunks.push(chunk);
    pool.columns.load(dump.stride, dump.columns);
    pool.index = pool.indexed((slot) => hashOfWords(pool.words(slot), recordAt(slot)));
    return pool;
  }

  /** The chunk that has the slot's record, from index recordAt(slot) on. For Book only. */
  words(slot: number): Int32Array {
    return this.chunks[slot >>> CHUNK_BITS]!;
  }

  /** The words of a hash. One command looks the same hash up several times, so the last hash's words are kept. */
  private keyOf(orderHash: string): Int32Array {
    if (orderHash !== this.keyText) {
      this.keyText = undefined;
      readHash(orderHash, this.key);
      this.keyText = orderHash;
    }
    return this.key;
  }

  private isUsed(slot: number): boolean {
    return (this.words(slot)[recordAt(slot) + FLAGS]! & IN_USE) !== 0;
  }

  private search(hash: number, key: Int32Array, from: number): number {
    const { index } = this;
    for (let slot = index.first(hash); slot >= 0; slot = index.after(hash, slot)) {
      if (sameHash(this.words(slot), recordAt(slot), key, from)) return slot;
    }
    return -1;
  }

  private takeSlot(): number {
    if (this.freeHead > 0) {
      const slot = this.freeHead - 1;
      this.freeHead = this.words(slot)[recordAt(slot) + NEXT]!;
      return slot;
    }
    const slot = this.high++;
    if (slot >>> CHUNK_BITS === this.chunks.length) this.chunks.push(new Int32Array(CHUNK_SLOTS << RECORD_BITS));
    this.columns.extendTo(slot);
    return slot;
  }
}

function hashOfWords(words: Int32Array, base: number): number {
  return mix32(words[base]! ^ Math.imul(words[base + HASH_WORDS - 1]!, 0x9e37_79b1));
}

function sameHash(words: Int32Array, base: number, key: Int32Array, from: number): boolean {
  for (let i = 0; i < HASH_WORDS; i++) {
    if (words[base + i] !== key[from + i]) return false;
  }
  return true;
}
