/** The graceful stop: the first signal runs the steps in order; a second signal ends the process at once. */
import { within } from '../engine/waiting.js';

/** One step of the stop. `what` names the action, such as `stop taking orders`. */
export interface StopStep {
  readonly what: string;
  readonly run: () => Promise<unknown>;
}

export interface StopOptions {
  /** Run one after the other, in this order: intake first, the log last. */
  readonly steps: readonly StopStep[];
  /** Time limit for all steps together. */
  readonly timeoutMs: number;
  readonly exit: (code: number) => void;
  readonly log: (line: { what: string; error?: unknown }) => void;
  /** Called once, when the stop begins. */
  readonly begun?: () => void;
}

/** The source of signals: the process, or an emitter in a test. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
}

/**
 * Exits with 0 when all steps ended in time, with 1 when a step failed (later steps still run) or time ran out, and
 * with 130 on a second signal. Returns a function that starts the same stop without a signal; its argument is the exit
 * code when all steps succeed. A code other than 0 tells why the process ends, and is the exit code also when a step
 * fails.
 */
export function stopOnSignals(
  signals: SignalSource, { steps, timeoutMs, exit, log, begun }: StopOptions,
): (code?: number) => Promise<void> {
  let running: Promise<void> | undefined;
  const stop = (code = 0) => {
    if (running === undefined) begun?.();
    return running ??= runSteps(steps, { timeoutMs, log }).then((ok) => { exit(ok || code !== 0 ? code : 1); });
  };
  const onSignal = () => {
    if (running !== undefined) {
      log({ what: 'stopped at once by a second signal' });
      exit(130);
    } else void stop();
  };
  signals.on('SIGTERM', onSignal);
  signals.on('SIGINT', onSignal);
  return stop;
}

async function runSteps(steps: readonly StopStep[], { timeoutMs, log }: Pick<StopOptions, 'timeoutMs' | 'log'>): Promise<boolean> {
  let ok = true;
  let current = '';
  const all = (async () => {
    for (const { what, run } of steps) {
      current = what;
      log({ what });
      try {
        await run();
      } catch (error) {
        ok = false;
        log({ what: `could not ${what}`, error });
      }
    }
    return ok;
  })();
  const result = await within(all, timeoutMs);
  if (result === undefined) log({ what: `gave up after ${timeoutMs} ms, during: ${current}` });
  return result ?? false;
}
