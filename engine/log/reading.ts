/** How adapters repeat reads that failed: once for a caller who waits, without end for a follower. */
import { orAborted, pause, retrying } from '../waiting.js';
import { LogUnavailable, RecordsLost, type LogRecord } from './log.js';

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
