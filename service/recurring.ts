/**
 * Log lines about what fails again and again: each error is told at once, then at growing intervals with how often it
 * came, and at last once that it does not come any more. Without this, a database that is away fills the log, since
 * every request and every attempt to connect fails.
 */
import { reportTo, type ReportLogger } from './logger.js';

export interface RecurringOptions {
  readonly logger: ReportLogger;
  /** What fails, as the log lines name it. */
  readonly what: string;
  /** A monotonic clock in milliseconds. Tests give their own, and their own timer. */
  readonly now?: () => number;
  readonly after?: (ms: number, run: () => void) => void;
}

/** Takes the text of each error. */
export type Recurring = (error: string) => void;

/** Without an error for this long, it is over. */
const QUIET_MS = 15_000;

/** For what tells of each failure, and never of a success. */
export function createRecurring({
  logger, what, now = () => performance.now(), after = unreferenced,
}: RecurringOptions): Recurring {
  const report = reportTo(logger, now);
  let latestMs: number | undefined;

  const lookWhetherOver = (): void => {
    const quietMs = now() - (latestMs ?? 0);
    if (quietMs < QUIET_MS) return after(QUIET_MS - quietMs, lookWhetherOver);
    latestMs = undefined;
    report('info', `${what}: no error for ${QUIET_MS / 1_000} s`);
  };

  return (error) => {
    if (latestMs === undefined) after(QUIET_MS, lookWhetherOver);
    latestMs = now();
    report('warn', `${what}: ${error}`);
  };
}

/** A timer that keeps no process alive. */
function unreferenced(ms: number, run: () => void): void {
  setTimeout(run, ms).unref();
}
