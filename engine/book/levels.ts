/** The price levels of one side of a book. */

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
   * The index where the key is or belongs. Keys are whole ticks, so a key that is d below the best has at most d levels above it. Where
   * the levels are dense, as they are near the best, the first guess is right. From there the steps double.
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
