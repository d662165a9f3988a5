/** A log in a list, for outcomes only. */
import type { Log, LogRecord, Stream } from '../engine/log.js';

export function createMemoryLog(): Log {
  const streams: Record<Stream, LogRecord[]> = { commands: [], outcomes: [] };
  const waiting = new Set<() => void>();
  return {
    append: (stream, records) => {
      const first = streams[stream].length;
      records.forEach((record, n) => streams[stream].push({ ...record, position: first + n }));
      for (const wake of waiting) wake();
      return Promise.resolve(first);
    },
    read: (stream, from, limit) => Promise.resolve(streams[stream].slice(from, from + limit)),
    length: (stream) => Promise.resolve(streams[stream].length),
    async* follow(stream, from, signal) {
      for (let next = from; !signal.aborted;) {
        const records = streams[stream].slice(next, next + 1_000);
        next += records.length;
        if (records.length > 0) {
          yield records;
          continue;
        }
        await new Promise<void>((resolve) => {
          const wake = () => { waiting.delete(wake); signal.removeEventListener('abort', wake); resolve(); };
          waiting.add(wake);
          signal.addEventListener('abort', wake);
        });
      }
    },
    close: () => Promise.resolve(),
  };
}
