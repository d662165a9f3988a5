/** The engine role: records the outcome of every command, and appends the clock's commands. Of several engines one records; the others stand by. */
import { runClock } from '../../engine/run/clock.js';
import { reportTo } from '../logger.js';
import { failureOf } from '../process/failure.js';
import type { Role } from './role.js';

export const engine: Role = {
  async start({ log, logger, now, conditions, machine, replica: shared, replicaState }) {
    const replica = await shared();
    const stopping = new AbortController();
    const clock = runClock({
      log, replica, now, mayPass: () => conditions.clock.doubt() === undefined, signal: stopping.signal, tickMs: machine.lookEveryMs,
      report: reportTo(logger),
    });
    const failed = failureOf(clock);
    failed.catch(() => undefined);
    return {
      routes: [], state: [replicaState], failed,
      async stop() {
        stopping.abort();
        await clock.catch(() => undefined);
      },
    };
  },
};
