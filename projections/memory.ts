/** Rows that a worker has written, kept so that the next batches need not read them: bounded, the least recently used go first. */

export interface Memory<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
}

/** Keeps the last `limit` keys that were read or written, and up to as many older ones. */
export function createMemory<Key, Value>(limit: number): Memory<Key, Value> {
  let recent = new Map<Key, Value>();
  let older = new Map<Key, Value>();
  const set = (key: Key, value: Value) => {
    recent.set(key, value);
    if (recent.size < limit) return;
    older = recent;
    recent = new Map();
  };
  return {
    get: (key) => {
      const value = recent.get(key);
      if (value !== undefined) return value;
      const found = older.get(key);
      if (found !== undefined) set(key, found);
      return found;
    },
    set,
    delete: (key) => {
      recent.delete(key);
      older.delete(key);
    },
  };
}
