/** The clock: appends AdvanceClock whenever an order or a market is due to expire, also when no other command comes. */
import { checkedRecordId, encodeCommand } from './new-record.js';
import { LogUnavailable, type Log } from '../log/log.js';
import { startRounds } from '../reactor.js';
import type { Report } from '../report.js';
import { pause, steady } from '../waiting.js';
import type { Replica } from './replica.js';

export interface EngineClockOptions {
  readonly log: Log;
  /** A replica that records outcomes. */
  readonly replica: Pick<Replica, 'view' | 'ready' | 'recording' | 'outcomeOf'>;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Whether time may pass: false while the process's clock may be wrong. Absent: always. */
  readonly mayPass?: () => boolean;
  readonly signal: AbortSignal;
  readonly tickMs?: number;
  /**
   * A standby engine also acts on work that has been due for this long, because the active engine must be gone. Default
   * 5 s.
   */
  readonly standbyMs?: number;
  readonly report: Report;
}

/**
 * Ticks until `signal` aborts. When one command cannot do all the due work, the next one follows at once. A tick waits
 * while the log cannot be reached, and while time may not pass. Rejects when the engine has stopped.
 */
export function runClock(options: EngineClockOptions): Promise<void> {
  const { replica, now, mayPass = () => true, signal, tickMs = 1_000, standbyMs = 5_000, report } = options;
  return startRounds({
    async round() {
      const at = now();
      const patienceMs = replica.recording?.standby === true ? standbyMs : 0;
      const isDue = replica.ready && replica.view.nextDue() + patienceMs <= at && mayPass();
      return isDue && await advanceClock(options, at);
    },
    rest: () => pause(tickMs, signal),
    canPass: (error) => error instanceof LogUnavailable,
    backoff: steady(tickMs), who: 'the clock', report, signal,
  }).done;
}

/** Appends AdvanceClock; returns whether the command caused events, in which case more work may be due. */
async function advanceClock({ log, replica }: EngineClockOptions, at: number): Promise<boolean> {
  const record = { id: checkedRecordId(`clock:${at}:${replica.view.position}`), data: encodeCommand({ kind: 'AdvanceClock', v: 1, at }) };
  const position = await log.append('commands', [record]);
  const { events } = await replica.outcomeOf(position, record.id);
  return events.length > 0;
}
