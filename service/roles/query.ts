/** The query role: answers reads from the read models, and the history from the log. */
import { SOURCE_URLS } from '../../command/prices/source-urls.js';
import { reading } from '../../engine/state-table.js';
import { within } from '../../engine/waiting.js';
import { createPriceFeed } from '../../query/price-feed.js';
import { readEndpoints } from '../api/endpoints.js';
import { createHistory } from './handlers/history.js';
import { createPriceStreams } from './handlers/price-stream.js';
import { createQueries } from './queries.js';
import { readModelsState, streamsState } from './query-state.js';
import { createRecurring } from '../recurring.js';
import { joined } from '../status/probe.js';
import { neverFails } from '../process/failure.js';
import type { Role } from './role.js';

const POSITION_WITHIN_MS = 2_000;

export const query: Role = {
  async start({ log, logger, config, now, readModels, logLength, chains, conditions }) {
    const db = await readModels();
    // `begin` reads the stablecoin, which `/api/v1/config` shows, and checks the contracts that are read for unresolved markets.
    for (const access of chains.values()) await access.begin(() => Promise.resolve());
    // The probe says why the whole database does not answer.
    const unread = () => conditions.isAway('read models') ? [] : undefined;
    const failed = createRecurring({ logger, what: 'price stream' });
    const feed = createPriceFeed({ db, onError: (error) => { failed(String(error)); } });
    const streams = createPriceStreams(feed, config);
    const history = createHistory({ db, log, now: () => performance.now() });
    const queries = createQueries({ db, log, now, assets: config.quickAssets, sourceUrls: SOURCE_URLS, streams, history, chains });
    return {
      routes: readEndpoints(queries), failed: neverFails,
      // The read models are closed with the shared parts.
      stop: () => feed.close(),
      state: [
        reading(readModelsState, joined(async () => {
          const position = await within(db.position(), POSITION_WITHIN_MS).catch(() => undefined);
          return position === undefined ? unread() : [{ position, lag: Math.max(0, logLength() - 1 - position) }];
        })),
        reading(streamsState, () => [{ prices: streams.open(), pricesCutOff: feed.cutOff(), history: history.open() }]),
      ],
    };
  },
};
