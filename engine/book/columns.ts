/** Further values per slot of a pool: what the engine knows about an order and the book does not need. */

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

/** All columns of a pool. The values of one slot are contiguous 32-bit words, so that an order's columns share cache lines. */
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
    if (this.stride > 0 && slot >>> CHUNK_BITS === this.words.length) this.push(new Int32Array(CHUNK_SLOTS * this.stride));
  }

  clear(slot: number): void {
    if (this.stride === 0) return;
    const words = this.words[slot >>> CHUNK_BITS]!;
    const start = (slot & CHUNK_MASK) * this.stride;
    for (let i = start; i < start + this.stride; i++) words[i] = 0;
  }

  /** Copies a dump's chunks. The caller then declares the same columns again in the same order, and no others. */
  load(stride: number, chunks: readonly Int32Array[]): void {
    this.stride = stride;
    for (const chunk of chunks) this.push(chunk.slice());
  }

  private push(chunk: Int32Array): void {
    this.words.push(chunk);
    this.doubles.push(new Float64Array(chunk.buffer));
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
