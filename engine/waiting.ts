/**
 * Waiting and retrying: how every part of the program pauses, backs off after failures, stops waiting when a signal
 * aborts, and keeps what waits.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves after `ms` milliseconds, or as soon as the signal aborts. Never rejects: the caller checks the signal. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}

/** Pauses that double with every failure in a row. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
  /**
   * A number from 0 up to 1. With it each pause varies by up to a half, so that several processes do not try again at
   * the same time.
   */
  readonly random?: () => number;
}

/** The pause after this many failures in a row, in milliseconds. The first failure is number 1. */
export function backoffMs(failures: number, { firstMs, longestMs, random = () => 0.5 }: Backoff): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 40)) * (0.5 + random());
}

/** The same pause after every failure. */
export function steady(ms: number): Backoff {
  return { firstMs: ms, longestMs: ms };
}

export interface RetryOptions {
  readonly backoff: Backoff;
  readonly signal: AbortSignal;
  /** Whether the same work may succeed later. Other errors end the retrying. */
  readonly canPass: (error: unknown) => boolean;
  /** Called with each failure that is retried, and the number of failures in a row. */
  readonly failed?: (error: unknown, failures: number) => void;
}

/**
 * Repeats the work until it succeeds. Rejects with the first error that cannot pass, or with the signal's reason when
 * the signal aborts.
 */
export async function retrying<T>(
  work: () => Promise<T>, { backoff, signal, canPass, failed }: RetryOptions,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || !canPass(error)) throw error;
      failed?.(error, failures);
    }
    await pause(backoffMs(failures, backoff), signal);
  }
}

/** The work's result, or a rejection with the signal's reason as soon as the signal aborts. The work itself goes on. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => { reject(signal.reason as Error); };
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    work.then(resolve, reject).finally(() => { signal.removeEventListener('abort', abort); });
  });
}

/** The work's result, or undefined when the work takes longer than `ms` milliseconds. The work itself goes on. */
export async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => { timer = setTimeout(() => { resolve(undefined); }, ms); });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The work, shared: a call while it runs gets the running work's result. */
export function joined<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => running ??= work().finally(() => { running = undefined; });
}

/** Wakes all waiters at once. */
export interface Bell {
  /** How often the bell has rung. A reader compares the counts before and after a read, to notice a ring in between. */
  rung(): number;
  ring(): void;
  /**
   * Resolves at the next ring, after `timeoutMs` milliseconds, or when the signal aborts, and says which of the three
   * it was.
   */
  wait(signal: AbortSignal, timeoutMs: number): Promise<'rung' | 'timeout' | 'aborted'>;
}

/** However many wait at the same time, the bell has one listener per signal: EventTarget warns of a leak beyond ten. */
export function createBell(): Bell {
  const waiting = new Set<() => void>();
  const leaving = createLeaving();
  let count = 0;

  return {
    rung: () => count,
    ring() {
      count += 1;
      for (const resume of [...waiting]) resume();
    },
    wait(signal, timeoutMs) {
      return new Promise((resolve) => {
        const finish = (why: 'rung' | 'timeout' | 'aborted'): void => {
          clearTimeout(timer);
          waiting.delete(resume);
          leaving.remove(signal, abort);
          resolve(why);
        };
        const resume = (): void => { finish('rung'); };
        const abort = (): void => { finish('aborted'); };
        const timer = setTimeout(() => { finish('timeout'); }, timeoutMs);
        waiting.add(resume);
        leaving.add(signal, abort);
        if (signal.aborted) abort();
      });
    },
  };
}

/**
 * What to call when a signal aborts, any number per signal. A signal has a listener while there is something to call.
 */
function createLeaving() {
  const bySignal = new Map<AbortSignal, { readonly calls: Set<() => void>; readonly listener: () => void }>();
  return {
    add(signal: AbortSignal, call: () => void): void {
      let entry = bySignal.get(signal);
      if (entry === undefined) {
        const calls = new Set<() => void>();
        entry = { calls, listener: () => { for (const each of [...calls]) each(); } };
        bySignal.set(signal, entry);
        signal.addEventListener('abort', entry.listener);
      }
      entry.calls.add(call);
    },
    remove(signal: AbortSignal, call: () => void): void {
      const entry = bySignal.get(signal);
      if (entry?.calls.delete(call) !== true || entry.calls.size > 0) return;
      signal.removeEventListener('abort', entry.listener);
      bySignal.delete(signal);
    },
  };
}

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
