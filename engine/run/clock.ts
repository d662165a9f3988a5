/** Carries time into quiet markets: appends AdvanceClock whenever the engine has something that is due. */
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeCommand, recordId } from '../records/codec.js';
import { LogUnavailable, type Log } from '../log/log.js';
import type { Outcomes } from './outcomes.js';
import type { EngineRun } from './run.js';
import { nextDue } from '../rules/state.js';

export interface ClockOptions {
  readonly log: Log;
  readonly run: EngineRun;
  readonly outcomes: Outcomes;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly tickMs?: number;
  readonly report?: (message: string) => void;
}

/**
 * Ticks until `signal` aborts. What is due and more than one command can do is carried on with at once. A log that cannot be reached
 * only delays a tick. Rejects when the engine has stopped.
 */
export async function runClock(options: ClockOptions): Promise<void> {
  const { run, now, signal, tickMs = 1_000, report } = options;
  while (!signal.aborted) {
    const at = now();
    if (run.ready && !run.standby && nextDue(run.engine.state) <= at) {
      try {
        if (await advanceClock(options, at)) continue;
      } catch (error) {
        if (!(error instanceof LogUnavailable)) throw error;
        report?.('the log is unavailable: the clock waits');
      }
    }
    await sleep(tickMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Whether the command did something: there may be more. */
async function advanceClock({ log, run, outcomes }: ClockOptions, at: number): Promise<boolean> {
  const data = encodeCommand({ kind: 'AdvanceClock', v: 1, at });
  const position = await log.append('commands', [{ id: recordId(`clock:${at}:${run.engine.state.position}`), data }]);
  const { events } = await outcomes.outcomeOf(position);
  return events.length > 0;
}
