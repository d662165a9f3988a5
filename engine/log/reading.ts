/** How adapters repeat reads that failed, once for a caller who waits, without end for a follower, and read ahead for a follower. */
import { setImmediate } from 'node:timers/promises';
import { orAborted, pause, retrying } from '../waiting.js';
import { LogUnavailable, RecordsLost, type LogRecord } from './log.js';
import type { ReadPage } from './tail.js';

export type CanPass = (error: unknown) => boolean;

const AFTER_FAILED_READS = { firstMs: 20, longestMs: 2_000 };

/** Tries twice, because a connection may be dead without this process knowing. Then throws LogUnavailable. */
export async function onceMore<T>(work: () => Promise<T>, canPass: CanPass, pauseMs = 0): Promise<T> {
  try {
    return await work().catch(async (error: unknown) => {
      if (!canPass(error)) throw error;
      if (pauseMs > 0) await pause(pauseMs);
      return await work();
    });
  } catch (cause) {
    throw canPass(cause) ? new LogUnavailable(false, { cause }) : cause;
  }
}

/**
 * Repeats the read until it succeeds, for followers, which outlive every outage. Returns no records when the signal
 * aborts.
 */
export async function readUntilAborted(
  readOnce: () => Promise<readonly LogRecord[]>, signal: AbortSignal, canPass: CanPass,
): Promise<readonly LogRecord[]> {
  try {
    return await retrying(() => orAborted(readOnce(), signal), {
      backoff: AFTER_FAILED_READS, signal, canPass: (error) => !(error instanceof RecordsLost) && canPass(error),
    });
  } catch (error) {
    if (signal.aborted) return [];
    throw error;
  }
}

/**
 * Reads the page behind the one that it returns, while the follower works on that one. `length`: the stream's known
 * length. A page that was read ahead for another question than the next one is dropped.
 */
export function readingAhead(read: ReadPage, length: () => number): ReadPage {
  let ahead: { readonly from: number; readonly previous: string | undefined; readonly page: ReturnType<ReadPage> } | undefined;
  return async (from, previous) => {
    const asked = ahead?.from === from && ahead.previous === previous ? ahead.page : read(from, previous);
    ahead = undefined;
    const page = await asked;
    const last = page.at(-1);
    if (last === undefined || last.position < from || last.position + 1 >= length()) return page;
    const next = { from: last.position + 1, previous: last.id };
    ahead = { ...next, page: read(next.from, next.previous) };
    // Whoever asks for it gets the error.
    ahead.page.catch(() => undefined);
    // The question leaves before the follower takes the thread.
    await setImmediate();
    return page;
  };
}
