/** What a projection remembers between batches, so that it need not ask Postgres for it. */
import { LRUCache } from 'lru-cache';

export type Remembered<K extends string | number, V extends object | bigint> = LRUCache<K, V>;

/**
 * At most so many entries; those that were not used for longest go first. Its room grows with them: with `max`, the cache would allocate all of it
 * at the start, which takes 12 ms for 100,000 entries, in every process.
 */
export function remember<K extends string | number, V extends object | bigint>(most: number): Remembered<K, V> {
  return new LRUCache<K, V>({ maxSize: most, sizeCalculation: () => 1 });
}
