/** Carries time into quiet markets: appends AdvanceClock whenever the engine has something that is due. */
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeCommand, recordId } from './codec.js';
import type { Log } from './log.js';
import type { Outcomes } from './outcomes.js';
import type { EngineRun } from './run.js';
import { nextDue } from './state.js';

export interface ClockOptions {
  readonly log: Log;
  readonly run: EngineRun;
  readonly outcomes: Outcomes;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly tickMs?: number;
}

/** Ticks until `signal` aborts. What is due and more than one command can do is carried on with at once. */
export async function runClock({ log, run, outcomes, now, signal, tickMs = 1_000 }: ClockOptions): Promise<void> {
  while (!signal.aborted) {
    const at = now();
    if (run.ready && !run.standby && nextDue(run.engine.state) <= at) {
      const data = encodeCommand({ kind: 'AdvanceClock', v: 1, at });
      const position = await log.append('commands', [{ id: recordId(`clock:${at}:${run.engine.state.position}`), data }]);
      const { events } = await outcomes.outcomeOf(position);
      if (events.length > 0) continue;
    }
    await sleep(tickMs, undefined, { signal }).catch(() => undefined);
  }
}
