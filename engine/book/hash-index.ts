/**
 * An index from 32-bit hashes to slots; the keys are stored elsewhere. Open addressing, in segments that grow one at a
 * time.
 */

const SEGMENT_BITS = 6;
const SEGMENTS = 1 << SEGMENT_BITS;
const FIRST_CAPACITY = 8;

/**
 * Finds candidates by hash. The caller compares the keys:
 *
 *     for (let slot = index.first(hash); slot >= 0; slot = index.after(hash, slot)) if (sameKey(slot)) return slot;
 *
 * Only the doubling of a segment allocates memory, and it moves 1/64 of the entries. A removal shifts later entries
 * back, so there are no tombstones. Deterministic: no seed. Hashes must be well mixed in all bits (see mix32): the
 * upper bits choose the segment, the lower bits the place in the segment.
 */
export class HashIndex {
  /** Entries as pairs (hash, slot + 1); 0 in the second word is an empty place. A segment is at most half full. */
  private readonly segments: Int32Array[] = [];
  private readonly used = new Int32Array(SEGMENTS);
  private entries = 0;

  constructor() {
    for (let i = 0; i < SEGMENTS; i++) this.segments.push(segmentFor(0));
  }

  /**
   * An index of these slots by their hashes, `hashes[i]` that of `slots[i]`. Entries are brought together by segment
   * first: inserted one after the other, nearly each would change memory that the processor's cache does not have.
   */
  static of(hashes: Int32Array, slots: Int32Array): HashIndex {
    const index = new HashIndex();
    for (const hash of hashes) countUp(index.used, segmentOf(hash));
    let start = 0;
    const next = index.used.map((many) => (start += many) - many);
    const entries = new Int32Array(2 * hashes.length);
    for (let i = 0; i < hashes.length; i++) {
      const hash = hashes[i] ?? 0;
      const at = 2 * countUp(next, segmentOf(hash));
      entries[at] = hash;
      entries[at + 1] = (slots[i] ?? 0) + 1;
    }
    for (const [number, many] of index.used.entries()) {
      const segment = segmentFor(many);
      const end = 2 * (next[number] ?? 0);
      for (let at = end - 2 * many; at < end; at += 2) put(segment, entries[at] ?? 0, entries[at + 1] ?? 0);
      index.segments[number] = segment;
    }
    index.entries = hashes.length;
    return index;
  }

  get size(): number {
    return this.entries;
  }

  /** The first slot that was inserted with this hash, or -1. */
  first(hash: number): number {
    const segment = this.segments[hash >>> (32 - SEGMENT_BITS)]!;
    const mask = segment.length - 1;
    for (let at = (hash << 1) & mask; ; at = (at + 2) & mask) {
      const entry = segment[at + 1]!;
      if (entry === 0) return -1;
      if (segment[at] === (hash | 0)) return entry - 1;
    }
  }

  /** The next slot with this hash after `slot`, or -1. `slot` is a result of first or after. */
  after(hash: number, slot: number): number {
    const segment = this.segments[hash >>> (32 - SEGMENT_BITS)]!;
    const mask = segment.length - 1;
    for (let at = (place(segment, hash, slot) + 2) & mask; ; at = (at + 2) & mask) {
      const entry = segment[at + 1]!;
      if (entry === 0) return -1;
      if (segment[at] === (hash | 0)) return entry - 1;
    }
  }

  /** Adds a slot, which must not be in the index yet. */
  insert(hash: number, slot: number): void {
    const number = hash >>> (32 - SEGMENT_BITS);
    let segment = this.segments[number]!;
    const used = ++this.used[number]!;
    if (used * 4 > segment.length) segment = this.segments[number] = doubled(segment);
    put(segment, hash, slot + 1);
    this.entries++;
  }

  /** Removes a slot that was inserted with this hash. Throws RangeError if the slot is not there. */
  remove(hash: number, slot: number): void {
    const number = hash >>> (32 - SEGMENT_BITS);
    const segment = this.segments[number]!;
    const mask = segment.length - 1;
    let hole = place(segment, hash, slot);
    for (let at = (hole + 2) & mask; segment[at + 1] !== 0; at = (at + 2) & mask) {
      const home = (segment[at]! << 1) & mask;
      // The entry must not move to the hole when its home is between the hole and the entry: a search starts at the
      // home.
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      segment[hole] = segment[at]!;
      segment[hole + 1] = segment[at + 1]!;
      hole = at;
    }
    segment[hole] = 0;
    segment[hole + 1] = 0;
    this.used[number]!--;
    this.entries--;
  }
}

/**
 * Spreads a 32-bit value over all bits (the finalizer of MurmurHash3): hashes that differ in one place end up far
 * apart.
 */
export function mix32(value: number): number {
  let x = value;
  x = Math.imul(x ^ (x >>> 16), 0x85eb_ca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2_ae35);
  return x ^ (x >>> 16);
}

function segmentOf(hash: number): number {
  return hash >>> (32 - SEGMENT_BITS);
}

/** Adds 1 to a count; returns what it was. */
function countUp(counts: Int32Array, at: number): number {
  const before = counts[at] ?? 0;
  counts[at] = before + 1;
  return before;
}

/** An empty segment with room for so many entries, and for a few more. */
function segmentFor(entries: number): Int32Array {
  return new Int32Array(2 * Math.max(FIRST_CAPACITY, 2 ** Math.ceil(Math.log2(2.1 * entries))));
}

function place(segment: Int32Array, hash: number, slot: number): number {
  const mask = segment.length - 1;
  for (let at = (hash << 1) & mask; ; at = (at + 2) & mask) {
    const entry = segment[at + 1]!;
    if (entry === slot + 1) return at;
    if (entry === 0) throw new RangeError(`slot ${slot} is not in the index under this hash`);
  }
}

function put(segment: Int32Array, hash: number, entry: number): void {
  const mask = segment.length - 1;
  let at = (hash << 1) & mask;
  while (segment[at + 1] !== 0) at = (at + 2) & mask;
  segment[at] = hash;
  segment[at + 1] = entry;
}

function doubled(segment: Int32Array): Int32Array {
  const larger = new Int32Array(segment.length * 2);
  for (let at = 0; at < segment.length; at += 2) {
    if (segment[at + 1] !== 0) put(larger, segment[at]!, segment[at + 1]!);
  }
  return larger;
}
