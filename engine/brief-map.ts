/**
 * A map for values that stay for milliseconds. A Map that changes often is given new tables, and V8 keeps the old ones,
 * each by the one before it, until its next full collection: with a plain Map, all that its values refer to at that
 * moment, a whole request for instance, moves to the old generation and stays as long.
 */
export class BriefMap<K, V> {
  /** Each has one value, and none when it was taken: old tables then keep an empty box. */
  private readonly boxes = new Map<K, V[]>();

  get(key: K): V | undefined {
    return this.boxes.get(key)?.[0];
  }

  set(key: K, value: V): void {
    this.boxes.set(key, [value]);
  }

  /** Returns what it had. */
  take(key: K): V | undefined {
    const box = this.boxes.get(key);
    if (box === undefined) return undefined;
    this.boxes.delete(key);
    return box.pop();
  }

  takeAll(): V[] {
    const boxes = [...this.boxes.values()];
    this.boxes.clear();
    return boxes.flatMap((box) => box.splice(0));
  }

  /** In the order in which they were set. */
  * values(): Generator<V> {
    for (const box of this.boxes.values()) yield* box;
  }
}
