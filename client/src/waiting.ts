/** Pauses that end with a signal, back-off, and a bound on how long an attempt takes. */

/** Resolves after the time; rejects with the signal's reason. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(reasonOf(signal));
    const ended = (): void => {
      clearTimeout(timer);
      reject(reasonOf(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', ended);
      resolve();
    }, ms);
    signal?.addEventListener('abort', ended, { once: true });
  });
}

const FIRST_MS = 50;
const LONGEST_MS = 2_000;

/** How long to wait after so many failures in a row: longer each time, and never the same for many clients. */
export function backOffMs(failures: number): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10));
  return longest / 2 + Math.random() * longest / 2;
}

/**
 * Runs the work with a signal that aborts with the caller's, or when the work has taken so long. The caller's signal
 * may live for ever: it keeps nothing of this.
 */
export async function within<T>(
  ms: number, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const abort = (): void => { own.abort(reasonOf(signal)); };
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => { own.abort(new Error(`no answer within ${Math.round(ms)} ms`)); }, ms);
  try {
    return await work(own.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** The reason of an aborted signal as an error. */
export function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error(`aborted: ${String(reason)}`);
}

/** What others wait for too; the signal ends only this wait. */
export function unlessAborted<T>(shared: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return shared;
  return new Promise((resolve, reject) => {
    const ended = (): void => { reject(reasonOf(signal)); };
    if (signal.aborted) return ended();
    signal.addEventListener('abort', ended, { once: true });
    shared.then(resolve, reject).finally(() => { signal.removeEventListener('abort', ended); });
  });
}
