/** The projections role: folds command outcomes into the read models, in a separate thread, so that this work does not delay other roles. */
import { reading } from '../../engine/state-table.js';
import { orAborted } from '../../engine/waiting.js';
import { startProjectionThread } from '../projection-thread/thread.js';
import { failureOf } from '../process/failure.js';
import { reportTo } from '../logger.js';
import { projectionState } from './projections-state.js';
import type { Role } from './role.js';

export const projections: Role = {
  async start({ urls, logger, logLength, starting }) {
    const thread = startProjectionThread({ logUrl: urls.log, url: urls.readModels }, reportTo(logger));
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
