/** The projections role: folds command outcomes into the read models, in a separate thread, so that this work does not delay other roles. */
import { orAborted } from '../../engine/waiting.js';
import { startProjectionThread } from '../projection-thread/thread.js';
import { lagReasons } from '../status/readiness.js';
import { failureOf } from '../process/failure.js';
import { reportTo } from '../logger.js';
import type { Role } from './role.js';

export const projections: Role = {
  async start({ urls, logger, config, logLength, starting }) {
    const thread = startProjectionThread({ logUrl: urls.log, url: urls.readModels }, reportTo(logger));
    await orAborted(Promise.race([thread.started, thread.ended]), starting).catch(async (error: unknown) => {
      await thread.stop();
      throw error;
    });
    const models = () => [...thread.positions].map(([name, position]) => ({ name, position, lag: Math.max(0, logLength() - position) }));
    return {
      routes: [], failed: failureOf(thread.ended), stop: () => thread.stop(),
      health: () => {
        const projections = models();
        return { projections, reasons: projections.flatMap(({ name, lag }) => lagReasons(`read model ${name}`, lag, config.readyMaxLag)) };
      },
      figures: [{
        name: 'exchange_projection_lag_records', help: 'Number of command outcomes that a read model does not include yet',
        read: () => models().map(({ name, lag }) => ({ labels: { projection: name }, value: lag })),
      }],
    };
  },
};
