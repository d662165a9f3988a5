/** Orders by their deadlines: a binary heap of slots that can also be read in order without changing it. */

/** Whether the order in slot `a` stops living before the order in slot `b`. A strict total order. */
export type Before = (a: number, b: number) => boolean;

export class Deadlines {
  #slots: Int32Array;
  #length = 0;

  constructor(private readonly before: Before, slots = new Int32Array(1024), length = 0) {
    this.#slots = slots;
    this.#length = length;
  }

  get length(): number {
    return this.#length;
  }

  /** The slot of the earliest deadline, or -1. */
  first(): number {
    return this.#length === 0 ? -1 : this.#slots[0]!;
  }

  push(slot: number): void {
    if (this.#length === this.#slots.length) {
      const grown = new Int32Array(this.#slots.length * 2);
      grown.set(this.#slots);
      this.#slots = grown;
    }
    let i = this.#length++;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const other = this.#slots[parent]!;
      if (!this.before(slot, other)) break;
      this.#slots[i] = other;
      i = parent;
    }
    this.#slots[i] = slot;
  }

  /** Removes the earliest. */
  pop(): void {
    const last = this.#slots[--this.#length]!;
    if (this.#length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= this.#length) break;
      if (child + 1 < this.#length && this.before(this.#slots[child + 1]!, this.#slots[child]!)) child++;
      if (!this.before(this.#slots[child]!, last)) break;
      this.#slots[i] = this.#slots[child]!;
      i = child;
    }
    this.#slots[i] = last;
  }

  /**
   * Slots from the earliest deadline on. Does not change the heap: a second, small heap has the frontier of the heap's
   * tree.
   */
  * inOrder(): Generator<number> {
    const slots = this.#slots;
    const frontier = new Deadlines((a, b) => this.before(slots[a]!, slots[b]!));
    if (this.#length > 0) frontier.push(0);
    while (frontier.length > 0) {
      const node = frontier.first();
      frontier.pop();
      yield slots[node]!;
      for (const child of [2 * node + 1, 2 * node + 2]) {
        if (child < this.#length) frontier.push(child);
      }
    }
  }

  /** The heap, in the memory of this one. */
  dump(): Int32Array {
    return this.#slots.subarray(0, this.#length);
  }

  static restore(before: Before, slots: Int32Array): Deadlines {
    const room = new Int32Array(Math.max(1024, 2 ** Math.ceil(Math.log2(slots.length + 1))));
    room.set(slots);
    return new Deadlines(before, room, slots.length);
  }
}
