/** Carries time into quiet markets: appends AdvanceClock whenever the engine has something that is due. */
import { encodeCommand, recordId } from '../records/codec.js';
import { LogUnavailable, type Log } from '../log/log.js';
import { pause } from '../waiting.js';
import type { Replica } from './replica.js';

export interface ClockOptions {
  readonly log: Log;
  /** A replica that records. */
  readonly replica: Pick<Replica, 'view' | 'ready' | 'recording' | 'outcomeOf'>;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly tickMs?: number;
  /** What is due for so long is done by an engine that stands by, too: the other one must be gone. Default 5 s. */
  readonly standbyMs?: number;
  readonly report?: (message: string) => void;
}

/**
 * Ticks until `signal` aborts. What is due and more than one command can do is carried on with at once. A log that cannot be reached
 * only delays a tick. Rejects when the engine has stopped.
 */
export async function runClock(options: ClockOptions): Promise<void> {
  const { replica, now, signal, tickMs = 1_000, standbyMs = 5_000, report } = options;
  while (!signal.aborted) {
    const at = now();
    const patienceMs = replica.recording?.standby === true ? standbyMs : 0;
    if (replica.ready && replica.view.nextDue() + patienceMs <= at) {
      try {
        if (await advanceClock(options, at)) continue;
      } catch (error) {
        if (!(error instanceof LogUnavailable)) throw error;
        report?.('the log is unavailable: the clock waits');
      }
    }
    await pause(tickMs, signal);
  }
}

/** Whether the command did something: there may be more. */
async function advanceClock({ log, replica }: ClockOptions, at: number): Promise<boolean> {
  const data = encodeCommand({ kind: 'AdvanceClock', v: 1, at });
  const position = await log.append('commands', [{ id: recordId(`clock:${at}:${replica.view.position}`), data }]);
  const { events } = await replica.outcomeOf(position);
  return events.length > 0;
}
