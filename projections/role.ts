/**
 * The projections role: folds command outcomes into the read models, in a separate thread, so that this work does not
 * delay other roles.
 */
import { failureOf, type Role } from '../engine/running-role.js';
import { reading } from '../engine/state-table.js';
import { orAborted } from '../engine/waiting.js';
import { projections as readModels } from './catalogue.js';
import { historyState, projectionState } from './role-state.js';
import type { ProjectionThread } from './thread/thread.js';

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
    const models = () => {
      const { position } = thread;
      if (position === undefined) return [];
      return readModels.map(({ name }) => ({ name, position, lag: Math.max(0, logLength() - position) }));
    };
    return {
      failed: failureOf(thread.ended), stop: () => thread.stop(),
      state: [reading(projectionState, models), reading(historyState, () => thread.history === undefined ? [] : [thread.history])],
    };
  },
};
