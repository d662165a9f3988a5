/** Asks something now and then whether it answers, within a time limit: a database, which may hang. */
import { messageOf } from '../../engine/report.js';
import { within } from '../../engine/waiting.js';

export type ProbeResult<T>
  = | { readonly answers: true; readonly value: T }
    | { readonly answers: false; readonly error: string; readonly cause?: unknown };

export interface Probe<T> {
  /**
   * Asks, unless somebody is asking or the latest answer is fresh. Resolves within the time limit and never rejects.
   */
  look(): Promise<ProbeResult<T>>;
  /** The latest answer; undefined before the first one. */
  readonly latest: ProbeResult<T> | undefined;
  /** Milliseconds since the latest success, or since the probe was made. */
  sinceSuccessMs(): number;
}

export interface ProbeOptions<T> {
  readonly ask: () => Promise<T>;
  readonly timeoutMs: number;
  /** An answer is used for this long. */
  readonly freshMs: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

export function createProbe<T>({ ask, timeoutMs, freshMs, now }: ProbeOptions<T>): Probe<T> {
  let foundAtMs = -Infinity;
  let succeededAtMs = now();
  /** The running question, which may take longer than the time limit. */
  let asking: Promise<ProbeResult<T>> | undefined;
  let looking: Promise<ProbeResult<T>> | undefined;

  async function answer(): Promise<ProbeResult<T>> {
    try {
      const value = await ask();
      succeededAtMs = now();
      return { answers: true, value };
    } catch (error) {
      return { answers: false, error: messageOf(error), cause: error };
    } finally {
      asking = undefined;
    }
  }

  async function lookAgain(): Promise<ProbeResult<T>> {
    const found = await within(asking ??= answer(), timeoutMs) ?? { answers: false, error: `no answer within ${timeoutMs} ms` };
    foundAtMs = now();
    looking = undefined;
    return probe.latest = found;
  }

  const probe = {
    latest: undefined as ProbeResult<T> | undefined,
    look() {
      if (probe.latest !== undefined && now() - foundAtMs < freshMs) return Promise.resolve(probe.latest);
      return looking ??= lookAgain();
    },
    sinceSuccessMs: () => now() - succeededAtMs,
  };
  return probe;
}
