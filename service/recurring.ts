/**
 * Log lines about what fails again and again: each error is told at once, then at growing intervals with how often it came, and at last once that
 * it does not come any more. Without this, a database that is away fills the log, since every request and every attempt to connect fails.
 */
import type { Logger } from './logger.js';

export interface RecurringOptions {
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  /** What fails, as the log lines name it. */
  readonly what: string;
  /** A monotonic clock in milliseconds. Tests give their own, and their own timer. */
  readonly now?: () => number;
  readonly after?: (ms: number, run: () => void) => void;
}

/** Takes the text of each error. */
export type Recurring = (error: string) => void;

const FIRST_INTERVAL_MS = 10_000;
const LONGEST_INTERVAL_MS = 600_000;
/** Without an error for this long, it is over. */
export const QUIET_MS = 15_000;
/** Different errors that are remembered: of more, such as with an id in each, none would be told apart. */
const MAX_ERRORS = 20;
const OTHERS = 'various errors';

interface Told {
  atMs: number;
  nextMs: number;
  /** Not told yet. */
  times: number;
}

export function createRecurring({ logger, what, now = () => performance.now(), after = unreferenced }: RecurringOptions): Recurring {
  const told = new Map<string, Told>();
  let latestMs = 0;

  const lookWhetherOver = (): void => {
    const quietMs = now() - latestMs;
    if (quietMs < QUIET_MS) return after(QUIET_MS - quietMs, lookWhetherOver);
    told.clear();
    logger.info(`${what}: no error for ${QUIET_MS / 1_000} s`);
  };

  return (error) => {
    latestMs = now();
    if (told.size === 0) after(QUIET_MS, lookWhetherOver);
    const key = told.has(error) || told.size < MAX_ERRORS ? error : OTHERS;
    const known = told.get(key);
    if (known === undefined) {
      told.set(key, { atMs: latestMs, nextMs: FIRST_INTERVAL_MS, times: 0 });
      logger.warn({ error }, what);
      return;
    }
    known.times += 1;
    if (latestMs - known.atMs < known.nextMs) return;
    logger.warn({ error, times: known.times }, what);
    told.set(key, { atMs: latestMs, nextMs: Math.min(known.nextMs * 2, LONGEST_INTERVAL_MS), times: 0 });
  };
}

/** A timer that keeps no process alive. */
function unreferenced(ms: number, run: () => void): void {
  setTimeout(run, ms).unref();
}
