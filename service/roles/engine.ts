/** The engine role: records the outcome of every command, and appends the clock's commands. Of several engines one records; the others stand by. */
import type { Log } from '../../engine/log/log.js';
import type { Report } from '../../engine/report.js';
import { runClock } from '../../engine/run/clock.js';
import type { Replica } from '../../engine/run/replica.js';
import { failureOf } from '../process/failure.js';
import type { ReadinessParts } from '../status/readiness.js';
import type { Clock, Role } from './role.js';

export interface EnginePorts {
  readonly log: Log;
  /** Records the outcomes. */
  readonly replica: Replica;
  readonly replicaHealth: () => ReadinessParts;
  readonly clock: Pick<Clock, 'now' | 'doubt'>;
  /** How often to see whether an order or a market is due to expire, in milliseconds. */
  readonly tickMs: number;
  readonly report: Report;
}

export const engine: Role<EnginePorts> = {
  start({ log, replica, replicaHealth, clock: time, tickMs, report }) {
    const stopping = new AbortController();
    const clock = runClock({
      log, replica, now: () => time.now(), mayPass: () => time.doubt() === undefined, signal: stopping.signal, tickMs, report,
    });
    const failed = failureOf(clock);
    failed.catch(() => undefined);
    return Promise.resolve({
      routes: [], figures: [], failed,
      health: replicaHealth,
      async stop() {
        stopping.abort();
        await clock.catch(() => undefined);
      },
    });
  },
};
