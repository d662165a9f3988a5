/**
 * The end of one stream as this process knows it: its length, a window of the newest records, and the followers that wait for
 * more. A follower at the end gets what this process appended from memory; contiguity decides, otherwise it reads.
 */
import { BrokenSequence, type LogRecord, type NewRecord, type Stream } from '../log.js';

const WINDOW_RECORDS = 10_000;
const WINDOW_BYTES = 16 * 1024 * 1024;

/** The most records that a follower gets at once. */
export const PAGE_RECORDS = 5_000;

export interface Tail {
  /** The length that is known so far; the stream may be longer by other processes' records. */
  length(): number;
  /** Durable records of the stream, from position `first` on: kept when they join the window, and followers are woken. */
  push(first: number, records: readonly NewRecord[]): void;
  /** The stream is known to have this length. */
  grown(length: number): void;
  /** Something may have been missed: followers look for themselves. */
  check(): void;
  /** The batches of `Log.follow`; `read` returns a page of the store. */
  follow(from: number, signal: AbortSignal, read: (from: number) => Promise<readonly LogRecord[]>): AsyncGenerator<readonly LogRecord[]>;
}

/** `pollMs`: how often a waiting follower looks for itself, should a wake-up be lost. */
export function createTail({ stream, length: initialLength, pollMs }: { stream: Stream; length: number; pollMs: number }): Tail {
  let knownLength = initialLength;
  let window: LogRecord[] = [];
  let windowBytes = 0;
  let checks = 0;
  let wakeUps = 0;
  const waiting = new Set<() => void>();

  function wake(): void {
    wakeUps += 1;
    for (const resume of [...waiting]) resume();
  }

  function keep(first: number, records: readonly NewRecord[]): void {
    const end = window.length === 0 ? first : window[0]!.position + window.length;
    if (first > end) {
      window = [];
      windowBytes = 0;
    }
    for (let i = Math.max(0, end - first); i < records.length; i++) {
      const { id, data } = records[i]!;
      window.push({ position: first + i, id, data });
      windowBytes += data.length;
    }
    if (window.length <= WINDOW_RECORDS && windowBytes <= WINDOW_BYTES) return;
    let drop = 0;
    // Down to half, so that the array is not moved at every append.
    while (window.length - drop > WINDOW_RECORDS / 2 || windowBytes > WINDOW_BYTES / 2) windowBytes -= window[drop++]!.data.length;
    window = window.slice(drop);
  }

  function fromWindow(from: number): readonly LogRecord[] {
    if (window.length === 0 || from < window[0]!.position) return [];
    const start = from - window[0]!.position;
    return window.slice(start, start + PAGE_RECORDS);
  }

  /** Waits for a wake-up; true when none came in time. */
  async function idle(signal: AbortSignal): Promise<boolean> {
    let timedOut = false;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => { timedOut = true; resume(); }, pollMs);
      function resume(): void {
        clearTimeout(timer);
        waiting.delete(resume);
        signal.removeEventListener('abort', resume);
        resolve();
      }
      waiting.add(resume);
      signal.addEventListener('abort', resume);
      if (signal.aborted) resume();
    });
    return timedOut;
  }

  return {
    length: () => knownLength,
    push(first, records) {
      keep(first, records);
      knownLength = Math.max(knownLength, first + records.length);
      wake();
    },
    grown(length) {
      if (length <= knownLength) return;
      knownLength = length;
      wake();
    },
    check() {
      checks += 1;
      wake();
    },
    async* follow(from, signal, read) {
      let next = from;
      let checked = -1;
      while (!signal.aborted) {
        const wakeUpsBefore = wakeUps;
        let batch = fromWindow(next);
        if (batch.length === 0 && (knownLength > next || checked !== checks)) {
          checked = checks;
          batch = await read(next);
          if (batch.length === 0 && wakeUps !== wakeUpsBefore) continue;
        }
        if (batch.length > 0) {
          if (batch[0]!.position !== next) throw new BrokenSequence(stream, next, batch[0]!.position);
          next += batch.length;
          knownLength = Math.max(knownLength, next);
          // The consumer may have been gone since the read began.
          if (!signal.aborted) yield batch;
        } else if (await idle(signal)) {
          checked = -1;
        }
      }
    },
  };
}
