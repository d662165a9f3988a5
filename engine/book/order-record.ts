/**
 * An order's record: 16 words, one cache line. With a thousand books under load, an order takes one memory access; with
 * one array per value it would take ten. Below are the columns of further values per order, which the engine knows and
 * the book does not need.
 */
import { toHex } from '../records/hex.js';

/** Words of an order's hash, which is text outside: `0x` and 64 lower-case hex digits. */
export const HASH_WORDS = 8;

export const RECORD_BITS = 4;

/** Words of a record. 0 to 7 are the hash. */
export const FLAGS = HASH_WORDS;
export const BOOK = 9;
export const NUMBER_HI = 10;
export const NUMBER_LO = 11;
export const REMAINING_HI = 12;
export const REMAINING_LO = 13;
/** Neighbours in the same level, as slot + 1; 0 means no neighbour. NEXT of a free slot links the free list. */
export const NEXT = 14;
export const PREVIOUS = 15;

/** Bits of FLAGS. A free slot has none. */
export const PRICE_MASK = 0xf_ffff;
export const SIDE = 1 << 20;
export const OUTCOME = 1 << 21;
export const RESTING = 1 << 22;
export const IN_USE = 1 << 23;

const WORD = 2 ** 32;

/** Where a slot's record starts in its chunk. */
export function recordAt(slot: number): number {
  return (slot & (CHUNK_SLOTS - 1)) << RECORD_BITS;
}

/** The order's number: the log position of its PlaceOrder, its time priority. */
export function numberIn(words: Int32Array, base: number): number {
  return (words[base + NUMBER_HI]! >>> 0) * WORD + (words[base + NUMBER_LO]! >>> 0);
}

/** The order's price as a key that is higher for a better price: the price of a bid, the negative price of an ask. */
export function priorityIn(words: Int32Array, base: number): number {
  const flags = words[base + FLAGS]!;
  const price = flags & PRICE_MASK;
  return (flags & SIDE) === 0 ? price : -price;
}

/** remaining += (hi, lo). Throws RangeError beyond 2^64-1, and then changes nothing. */
export function addRemainingIn(words: Int32Array, base: number, hi: number, lo: number): void {
  const sumLo = (words[base + REMAINING_LO]! >>> 0) + lo;
  const sumHi = (words[base + REMAINING_HI]! >>> 0) + hi + (sumLo >= WORD ? 1 : 0);
  if (sumHi >= WORD) throw new RangeError('the remaining size would pass 2^64-1');
  words[base + REMAINING_HI] = sumHi;
  words[base + REMAINING_LO] = sumLo;
}

/** remaining -= (hi, lo); returns whether anything remains. Throws RangeError below 0, and then changes nothing. */
export function subtractRemainingIn(words: Int32Array, base: number, hi: number, lo: number): boolean {
  const restLo = (words[base + REMAINING_LO]! >>> 0) - lo;
  const restHi = (words[base + REMAINING_HI]! >>> 0) - hi - (restLo < 0 ? 1 : 0);
  if (restHi < 0) throw new RangeError('more was taken than remains');
  words[base + REMAINING_HI] = restHi;
  words[base + REMAINING_LO] = restLo;
  return (restHi | restLo) !== 0;
}

const HASH_TEXT = 2 + HASH_WORDS * 8;

/**
 * A digit's value by UTF-16 code; 255 for a code that is not a lower-case hex digit. Upper case is refused, because two
 * spellings of one hash would be two orders. All 2^16 codes have an entry, so reading needs no range check.
 */
const DIGIT = new Uint8Array(2 ** 16).fill(255);
for (const [value, digit] of Array.from('0123456789abcdef').entries()) DIGIT[digit.charCodeAt(0)] = value;

/** Writes the hash's words to `into`. Throws RangeError for anything but `0x` and 64 lower-case hex digits. */
export function readHash(text: string, into: Int32Array): void {
  if (text.length !== HASH_TEXT || text.charCodeAt(0) !== 48 || text.charCodeAt(1) !== 120) throw notHash(text);
  let seen = 0;
  // Unrolled by hand: a loop over the eight digits takes 50% longer, and every command reads a hash.
  for (let word = 0, at = 2; word < HASH_WORDS; word++, at += 8) {
    const a = DIGIT[text.charCodeAt(at)]!;
    const b = DIGIT[text.charCodeAt(at + 1)]!;
    const c = DIGIT[text.charCodeAt(at + 2)]!;
    const d = DIGIT[text.charCodeAt(at + 3)]!;
    const e = DIGIT[text.charCodeAt(at + 4)]!;
    const f = DIGIT[text.charCodeAt(at + 5)]!;
    const g = DIGIT[text.charCodeAt(at + 6)]!;
    const h = DIGIT[text.charCodeAt(at + 7)]!;
    seen |= a | b | c | d | e | f | g | h;
    into[word] = (a << 28) | (b << 24) | (c << 20) | (d << 16) | (e << 12) | (f << 8) | (g << 4) | h;
  }
  if (seen > 15) throw notHash(text);
}

const hashBytes = new Uint8Array(4 * HASH_WORDS);
const hash = new DataView(hashBytes.buffer);

/** The text of the hash whose words are in `words` from index `at` on. */
export function formatHash(words: Int32Array, at: number): string {
  for (let i = 0; i < HASH_WORDS; i++) hash.setInt32(4 * i, words[at + i]!);
  return toHex(hashBytes);
}

function notHash(text: string): RangeError {
  return new RangeError(`not 0x and 64 lower-case hex digits: ${text.slice(0, 80)}`);
}

/** Slots per chunk, as a power of two. Pools grow by whole chunks and never copy their content. */
export const CHUNK_BITS = 12;
export const CHUNK_SLOTS = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_SLOTS - 1;

/** One number per slot; 0 when the slot is allocated. */
export interface Column {
  get(slot: number): number;
  set(slot: number, value: number): void;
}

/** The type of a column's values: they are converted like the elements of such a typed array. */
export type ColumnKind = Uint8ArrayConstructor | Int32ArrayConstructor | Uint32ArrayConstructor | Float64ArrayConstructor;

/**
 * All columns of a pool. The values of one slot are contiguous 32-bit words, so that an order's columns share cache
 * lines.
 */
export class Columns {
  /** Words per slot; even, so that doubles are aligned. */
  stride = 0;
  readonly words: Int32Array[] = [];
  /** The same memory as doubles. */
  readonly doubles: Float64Array[] = [];
  private declared = 0;

  /** Declares the next column. Throws Error once slots are in use, unless they were restored with this column. */
  column(kind: ColumnKind): Column {
    if (kind === Float64Array) this.declared += this.declared & 1;
    const word = this.declared;
    this.declared += kind === Float64Array ? 2 : 1;
    if (this.declared > this.stride) {
      if (this.words.length > 0) throw new Error('columns are declared before the first slot is allocated');
      this.stride = this.declared + (this.declared & 1);
    }
    if (kind === Float64Array) return new DoubleColumn(this, word >>> 1);
    if (kind === Uint32Array) return new UnsignedColumn(this, word);
    return kind === Uint8Array ? new ByteColumn(this, word) : new SignedColumn(this, word);
  }

  /** Makes room for a slot that is the highest so far. */
  extendTo(slot: number): void {
    if (this.stride > 0 && slot >>> CHUNK_BITS === this.words.length) {
      this.push(new Int32Array(CHUNK_SLOTS * this.stride));
    }
  }

  clear(slot: number): void {
    if (this.stride === 0) return;
    const words = this.words[slot >>> CHUNK_BITS]!;
    const start = (slot & CHUNK_MASK) * this.stride;
    for (let i = start; i < start + this.stride; i++) words[i] = 0;
  }

  /** Takes a dump's chunks over. The caller then declares the same columns again in the same order, and no others. */
  load(stride: number, chunks: readonly Int32Array[]): void {
    this.stride = stride;
    for (const chunk of chunks) this.push(chunk);
  }

  private push(chunk: Int32Array): void {
    this.words.push(chunk);
    this.doubles.push(new Float64Array(chunk.buffer, chunk.byteOffset, chunk.length / 2));
  }
}

class SignedColumn implements Column {
  constructor(private readonly columns: Columns, private readonly word: number) {}

  get(slot: number): number {
    return this.columns.words[slot >>> CHUNK_BITS]![(slot & CHUNK_MASK) * this.columns.stride + this.word]!;
  }

  set(slot: number, value: number): void {
    this.columns.words[slot >>> CHUNK_BITS]![(slot & CHUNK_MASK) * this.columns.stride + this.word] = value;
  }
}

class UnsignedColumn extends SignedColumn {
  override get(slot: number): number {
    return super.get(slot) >>> 0;
  }
}

class ByteColumn extends SignedColumn {
  override set(slot: number, value: number): void {
    super.set(slot, value & 0xff);
  }
}

class DoubleColumn implements Column {
  constructor(private readonly columns: Columns, private readonly double: number) {}

  get(slot: number): number {
    return this.columns.doubles[slot >>> CHUNK_BITS]![(slot & CHUNK_MASK) * (this.columns.stride >>> 1) + this.double]!;
  }

  set(slot: number, value: number): void {
    this.columns.doubles[slot >>> CHUNK_BITS]![(slot & CHUNK_MASK) * (this.columns.stride >>> 1) + this.double] = value;
  }
}
