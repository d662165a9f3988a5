/**
 * The log in memory: for tests and simulation. Handles over one store see the same records, as processes over one database do.
 */
import { LogUnavailable, WrongPosition, type Log, type LogRecord, type Stream } from '../log.js';
import { checkAppend, checkPosition } from '../append-check.js';
import { PAGE_RECORDS } from '../tail.js';

/** What outlives a handle. */
export interface MemoryStore {
  readonly records: Readonly<Record<Stream, LogRecord[]>>;
  /** Called after every append. */
  readonly wake: Set<() => void>;
}

export function createMemoryStore(): MemoryStore {
  return { records: { commands: [], outcomes: [] }, wake: new Set() };
}

/** A log over `store`, or over a store of its own. `close` ends this handle's followers; the store keeps its records. */
export function createMemoryLog(store: MemoryStore = createMemoryStore()): Log {
  const closed = new AbortController();

  return {

    async append(stream, batch, expected) {
      checkAppend(batch, expected);
      if (closed.signal.aborted) throw new LogUnavailable(false);
      const records = store.records[stream];
      if (expected !== undefined && expected !== records.length) {
        if (batch.every(({ id }, i) => records[expected + i]?.id === id)) return expected;
        throw new WrongPosition(stream, expected, records.length);
      }
      const first = records.length;
      batch.forEach(({ id, data }, i) => records.push({ position: first + i, id, data }));
      for (const wake of [...store.wake]) wake();
      return first;
    },

    async read(stream, from, limit) {
      checkPosition(from);
      if (closed.signal.aborted) throw new LogUnavailable(false);
      return store.records[stream].slice(from, from + limit);
    },

    async length(stream) {
      return store.records[stream].length;
    },

    async* follow(stream, from, signal) {
      checkPosition(from);
      const ended = AbortSignal.any([signal, closed.signal]);
      for (let next = from; !ended.aborted;) {
        const batch = store.records[stream].slice(next, next + PAGE_RECORDS);
        next += batch.length;
        if (batch.length > 0) yield batch;
        else await nextAppend(store, ended);
      }
    },

    async close() {
      closed.abort();
    },
  };
}

function nextAppend(store: MemoryStore, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    function resume(): void {
      store.wake.delete(resume);
      signal.removeEventListener('abort', resume);
      resolve();
    }
    store.wake.add(resume);
    signal.addEventListener('abort', resume);
  });
}
