/** The projections role: folds command outcomes into the read models, in a separate thread, so that this work does not delay other roles. */
import { reading } from '../../engine/state-table.js';
import { orAborted } from '../../engine/waiting.js';
import type { ProjectionThread } from '../projection-thread/thread.js';
import { failureOf } from '../process/failure.js';
import { projectionState } from './projections-state.js';
import type { Role } from './role.js';

export interface ProjectionsPorts {
  /** Starts the thread, which opens log and read models itself: connections cannot be passed to a thread. */
  readonly startThread: () => ProjectionThread;
  /** Number of commands in the log, at most about a second old. */
  readonly logLength: () => number;
  /** Aborts when the process stops before its start is over. */
  readonly starting: AbortSignal;
}

export const projections: Role<ProjectionsPorts> = {
  async start({ startThread, logLength, starting }) {
    const thread = startThread();
    await orAborted(Promise.race([thread.started, thread.ended]), starting).catch(async (error: unknown) => {
      await thread.stop();
      throw error;
    });
    const models = () => [...thread.positions].map(([name, position]) => ({ name, position, lag: Math.max(0, logLength() - position) }));
    return {
      routes: [], failed: failureOf(thread.ended), stop: () => thread.stop(),
      state: [reading(projectionState, models)],
    };
  },
};
