/** Further 32-bit and 64-bit values on the slots of a pool: what the engine knows of an order beyond what the book needs. */
import { uint64 } from './uint64.js';

/** Slots a chunk: pools grow by whole chunks and never copy what they hold. */
export const CHUNK_BITS = 12;
export const CHUNK_SLOTS = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_SLOTS - 1;

/** One unsigned 32-bit value a slot; 0 when the slot is allocated. */
export interface Column {
  get(slot: number): number;
  set(slot: number, value: number): void;
}

/** One unsigned 64-bit value a slot; 0 when the slot is allocated. */
export interface WideColumn {
  hi(slot: number): number;
  lo(slot: number): number;
  set(slot: number, hi: number, lo: number): void;
  get(slot: number): bigint;
}

/** All columns of a pool: a slot's values lie side by side, so that an order's columns share cache lines. */
export class Columns {
  private readonly chunks: Uint32Array[];
  private declared = 0;

  private constructor(private stride: number, chunks: readonly Uint32Array[]) {
    this.chunks = chunks.map((chunk) => chunk.slice());
  }

  static empty(): Columns {
    return new Columns(0, []);
  }

  /** From the chunks that dump gave; the columns are to be declared again in the same order, and no others. */
  static restore(stride: number, chunks: readonly Uint32Array[]): Columns {
    return new Columns(stride, chunks);
  }

  /** Declares the next 32-bit column. Throws Error once slots are in use, unless a restored pool has that column. */
  column(): Column {
    return new Uint32Column(this, this.declare(1));
  }

  /** Declares the next 64-bit column; see column. */
  wideColumn(): WideColumn {
    return new Uint64Column(this, this.declare(2));
  }

  /** Makes room for a slot that is the highest so far. */
  extendTo(slot: number): void {
    if (this.stride > 0 && slot >>> CHUNK_BITS === this.chunks.length) this.chunks.push(new Uint32Array(CHUNK_SLOTS * this.stride));
  }

  clear(slot: number): void {
    if (this.stride === 0) return;
    const at = (slot & CHUNK_MASK) * this.stride;
    this.chunks[slot >>> CHUNK_BITS]!.fill(0, at, at + this.stride);
  }

  get(slot: number, word: number): number {
    return this.chunks[slot >>> CHUNK_BITS]![(slot & CHUNK_MASK) * this.stride + word]!;
  }

  set(slot: number, word: number, value: number): void {
    this.chunks[slot >>> CHUNK_BITS]![(slot & CHUNK_MASK) * this.stride + word] = value;
  }

  dump(): { readonly stride: number; readonly chunks: readonly Uint32Array[] } {
    return { stride: this.stride, chunks: this.chunks };
  }

  private declare(words: number): number {
    const word = this.declared;
    this.declared += words;
    if (this.declared > this.stride) {
      if (this.chunks.length > 0) throw new Error('columns are declared before the first slot is allocated');
      this.stride = this.declared;
    }
    return word;
  }
}

class Uint32Column implements Column {
  constructor(private readonly columns: Columns, private readonly word: number) {}

  get(slot: number): number {
    return this.columns.get(slot, this.word);
  }

  set(slot: number, value: number): void {
    this.columns.set(slot, this.word, value);
  }
}

class Uint64Column implements WideColumn {
  constructor(private readonly columns: Columns, private readonly word: number) {}

  hi(slot: number): number {
    return this.columns.get(slot, this.word);
  }

  lo(slot: number): number {
    return this.columns.get(slot, this.word + 1);
  }

  set(slot: number, hi: number, lo: number): void {
    this.columns.set(slot, this.word, hi);
    this.columns.set(slot, this.word + 1, lo);
  }

  get(slot: number): bigint {
    return uint64(this.hi(slot), this.lo(slot));
  }
}
