/**
 * The engine role: records the outcome of every command, and appends the clock's commands. Of several engines one
 * records; the others stand by.
 */
import type { Log } from './log/log.js';
import type { Report } from './report.js';
import { runClock } from './run/clock.js';
import type { Replica } from './run/replica.js';
import { failureOf, type Clock, type Role } from './running-role.js';
import type { Reading } from './state-table.js';

export interface EnginePorts {
  readonly log: Log;
  /** Records the outcomes. */
  readonly replica: Replica;
  readonly replicaState: Reading;
  readonly clock: Pick<Clock, 'now' | 'doubt'>;
  /** How often to see whether an order or a market is due to expire, in milliseconds. */
  readonly tickMs: number;
  readonly report: Report;
}

export const engine: Role<EnginePorts> = {
  start({ log, replica, replicaState, clock: time, tickMs, report }) {
    const stopping = new AbortController();
    const clock = runClock({
      log, replica, now: () => time.now(), mayPass: () => time.doubt() === undefined, signal: stopping.signal, tickMs,
      report,
    });
    const failed = failureOf(clock);
    failed.catch(() => undefined);
    return Promise.resolve({
      state: [replicaState], failed,
      async stop() {
        stopping.abort();
        await clock.catch(() => undefined);
      },
    });
  },
};
