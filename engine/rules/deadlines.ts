/** Orders by their deadlines: a binary heap of slots that can also be read in order without changing it. */

/** Whether the order in slot `a` stops living before the order in slot `b`. A strict total order. */
export type Before = (a: number, b: number) => boolean;

/** Slots per chunk, as a power of two. The heap grows by whole chunks: doubling one array took 13 ms with four million orders. */
const CHUNK_BITS = 10;
const CHUNK = 1 << CHUNK_BITS;

export class Deadlines {
  #length = 0;

  constructor(private readonly before: Before, private readonly chunks: Int32Array[] = []) {}

  get length(): number {
    return this.#length;
  }

  /** The slot of the earliest deadline, or -1. */
  first(): number {
    return this.#length === 0 ? -1 : this.#at(0);
  }

  push(slot: number): void {
    if (this.#length === this.chunks.length * CHUNK) this.chunks.push(new Int32Array(CHUNK));
    let i = this.#length++;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const other = this.#at(parent);
      if (!this.before(slot, other)) break;
      this.#put(i, other);
      i = parent;
    }
    this.#put(i, slot);
  }

  /** Removes the earliest. */
  pop(): void {
    const last = this.#at(--this.#length);
    if (this.#length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= this.#length) break;
      if (child + 1 < this.#length && this.before(this.#at(child + 1), this.#at(child))) child++;
      if (!this.before(this.#at(child), last)) break;
      this.#put(i, this.#at(child));
      i = child;
    }
    this.#put(i, last);
  }

  /**
   * Slots from the earliest deadline on. Does not change the heap: a second, small heap has the frontier of the heap's
   * tree.
   */
  * inOrder(): Generator<number> {
    const frontier = new Deadlines((a, b) => this.before(this.#at(a), this.#at(b)));
    if (this.#length > 0) frontier.push(0);
    while (frontier.length > 0) {
      const node = frontier.first();
      frontier.pop();
      yield this.#at(node);
      for (const child of [2 * node + 1, 2 * node + 2]) {
        if (child < this.#length) frontier.push(child);
      }
    }
  }

  /** A copy of the heap. */
  dump(): Int32Array {
    const slots = new Int32Array(this.#length);
    for (let from = 0; from < slots.length; from += CHUNK) {
      slots.set(this.chunks[from >> CHUNK_BITS]!.subarray(0, slots.length - from), from);
    }
    return slots;
  }

  static restore(before: Before, slots: Int32Array): Deadlines {
    const room = new Int32Array(Math.ceil(slots.length / CHUNK) * CHUNK);
    room.set(slots);
    const chunks = Array.from({ length: room.length / CHUNK }, (_, n) => room.subarray(n * CHUNK, (n + 1) * CHUNK));
    const deadlines = new Deadlines(before, chunks);
    deadlines.#length = slots.length;
    return deadlines;
  }

  #at(i: number): number {
    return this.chunks[i >> CHUNK_BITS]![i & (CHUNK - 1)]!;
  }

  #put(i: number, slot: number): void {
    this.chunks[i >> CHUNK_BITS]![i & (CHUNK - 1)] = slot;
  }
}
