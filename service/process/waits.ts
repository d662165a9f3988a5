/**
 * What a starting process waits for: the work is tried again until it succeeds; readiness and the log lines say
 * meanwhile what is missing.
 */
import { messageOf } from '../../engine/report.js';
import { orAborted, retrying } from '../../engine/waiting.js';
import { reportTo, type Logger } from '../logger.js';

export interface Waits {
  /** Aborts when the process stops before its start is over. */
  readonly signal: AbortSignal;
  /** Why the start is not over, in plain words, without secrets: what is waited for, else what is being done. */
  reasons(): readonly string[];
  /**
   * Tries the work until it succeeds. Rejects with the first error that `canPass` does not let pass, and with the
   * signal's reason. `what` ends the sentence "waiting for …".
   */
  until<T>(what: string, work: () => Promise<T>, canPass: (error: unknown) => boolean): Promise<T>;
  /** The work's result; meanwhile `doing` is a reason. The work itself ends when the signal aborts. */
  during<T>(doing: () => string, work: Promise<T>): Promise<T>;
}

/** A server that starts last is noticed within a second. */
const BACKOFF = { firstMs: 100, longestMs: 1_000 };

export interface WaitsOptions {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** A monotonic clock in milliseconds; tests give their own. */
  readonly now?: () => number;
}

export function createWaits({ logger, signal, now = () => performance.now() }: WaitsOptions): Waits {
  const missing = new Map<string, string>();
  const doing = new Set<() => string>();
  return {
    signal,
    reasons: () => missing.size > 0 ? [...missing].map(([what, why]) => `waiting for ${what}: ${why}`) : [...doing].map((text) => text()),
    async until(what, work, canPass) {
      // Two reasons in turns, as of two addresses of one host, are told as seldom as one that stays.
      const report = reportTo(logger, now);
      try {
        const result = await retrying(() => orAborted(work(), signal), {
          backoff: BACKOFF, signal, canPass,
          failed(error) {
            const why = messageOf(error);
            if (missing.get(what) !== why) report('warn', `waiting for ${what}: ${why}`);
            missing.set(what, why);
          },
        });
        if (missing.has(what)) report('info', `no longer waiting for ${what}`);
        return result;
      } finally {
        missing.delete(what);
      }
    },
    async during(text, work) {
      doing.add(text);
      try {
        return await work;
      } finally {
        doing.delete(text);
      }
    },
  };
}
