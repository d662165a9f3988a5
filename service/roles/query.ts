/** The query role: answers reads from the read models, and the history from the log. */
import { SOURCE_URLS } from '../../command/prices/source-urls.js';
import { within } from '../../engine/waiting.js';
import { createHistory } from '../../query/history/list-events.js';
import { createPriceFeed } from '../../query/price-feed.js';
import { createPriceStreams } from '../../query/price-stream.js';
import { serve } from '../api/endpoint.js';
import { readEndpoints } from '../endpoints.js';
import { neverFails } from '../process/failure.js';
import { createRecurring } from '../recurring.js';
import { joined } from '../status/probe.js';
import { lagReasons, type ReadinessParts } from '../status/readiness.js';
import { createWaysOut } from './handlers/ways-out.js';
import type { Role } from './role.js';

const POSITION_WITHIN_MS = 2_000;

export const query: Role = {
  async start({ log, logger, config, now, readModels, logLength, chains, conditions }) {
    const db = await readModels();
    // `begin` reads the stablecoin, which `/api/v1/config` shows, and checks the contracts that are read for unresolved markets.
    for (const access of chains.values()) await access.begin(() => Promise.resolve());
    // The probe says why the whole database does not answer.
    const unread = (): ReadinessParts => ({ reasons: conditions.isAway('read models') ? [] : ['the read models cannot be read'] });
    const failed = createRecurring({ logger, what: 'price stream' });
    const feed = createPriceFeed({ db, onError: (error) => { failed(String(error)); } });
    const streams = createPriceStreams(feed, config);
    const history = createHistory({ db, log, now: () => performance.now() });
    const waysOut = createWaysOut({ chains, monotonic: () => performance.now() });
    return {
      routes: serve(readEndpoints, { db, log, now, assets: config.quickAssets, sourceUrls: SOURCE_URLS, streams, history, waysOut }),
      figures: [...streams.figures, ...history.figures], failed: neverFails,
      // The read models are closed with the shared parts.
      stop: () => feed.close(),
      health: joined(async (): Promise<ReadinessParts> => {
        try {
          const position = await within(db.position(), POSITION_WITHIN_MS);
          if (position === undefined) return unread();
          const lag = Math.max(0, logLength() - 1 - position);
          return { reasons: lagReasons('the slowest read model', lag, config.readyMaxLag), readModels: { position, lag } };
        } catch {
          return unread();
        }
      }),
    };
  },
};
