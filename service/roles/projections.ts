/** The projections role: folds command outcomes into the read models, in a separate thread, so that this work does not delay other roles. */
import { orAborted } from '../../engine/waiting.js';
import type { ProjectionThread } from '../projection-thread/thread.js';
import { lagReasons } from '../status/readiness.js';
import { failureOf } from '../process/failure.js';
import type { Role } from './role.js';

export interface ProjectionsPorts {
  /** Starts the thread, which opens log and read models itself: connections cannot be passed to a thread. */
  readonly startThread: () => ProjectionThread;
  /** Number of commands in the log, at most about a second old. */
  readonly logLength: () => number;
  /** Records that a read model may lag without being a reason not to send requests here. */
  readonly maxLag: number;
  /** Aborts when the process stops before its start is over. */
  readonly starting: AbortSignal;
}

export const projections: Role<ProjectionsPorts> = {
  async start({ startThread, logLength, maxLag, starting }) {
    const thread = startThread();
    await orAborted(Promise.race([thread.started, thread.ended]), starting).catch(async (error: unknown) => {
      await thread.stop();
      throw error;
    });
    const models = () => [...thread.positions].map(([name, position]) => ({ name, position, lag: Math.max(0, logLength() - position) }));
    return {
      routes: [], failed: failureOf(thread.ended), stop: () => thread.stop(),
      health: () => {
        const projections = models();
        return { projections, reasons: projections.flatMap(({ name, lag }) => lagReasons(`read model ${name}`, lag, maxLag)) };
      },
      figures: [{
        name: 'exchange_projection_lag_records', help: 'Number of command outcomes that a read model does not include yet',
        read: () => models().map(({ name, lag }) => ({ labels: { projection: name }, value: lag })),
      }],
    };
  },
};
