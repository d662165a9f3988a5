/** The query role: answers reads from the read models, and pages of the history from the log. */
import { readEndpoints } from '../api/read-endpoints.js';
import { createQueries } from '../api/queries.js';
import { lagReasons, type ReadinessParts } from './readiness.js';
import { neverFails, type Role } from './role.js';

export const query: Role = {
  name: 'query',
  reads: 'the read models; commands and outcomes, for pages of the history',
  writes: 'nothing',
  async start({ log, config, now, readModels, logLength }) {
    const db = await readModels();
    return {
      routes: readEndpoints(createQueries({ db, log, now })), figures: [], failed: neverFails,
      // Closed with the shared parts.
      stop: () => Promise.resolve(),
      async health(): Promise<ReadinessParts> {
        try {
          const position = await db.position();
          const lag = Math.max(0, logLength() - 1 - position);
          return { reasons: lagReasons('the slowest read model', lag, config.readyMaxLag), readModels: { position, lag } };
        } catch {
          return { reasons: ['the read models cannot be reached'] };
        }
      },
    };
  },
};
