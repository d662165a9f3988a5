/** The query role: answers reads from the read models, and the history from the log. */
import { SOURCE_URLS } from '../../command/prices/source-urls.js';
import type { Log } from '../../engine/log/log.js';
import { within } from '../../engine/waiting.js';
import type { Database } from '../../query/database.js';
import { createHistory } from '../../query/history/list-events.js';
import { createPriceFeed } from '../../query/price-feed.js';
import { createPriceStreams, type StreamLimits } from '../../query/price-stream.js';
import { serve } from '../api/endpoint.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { readEndpoints } from '../endpoints.js';
import { neverFails } from '../process/failure.js';
import type { Recurring } from '../recurring.js';
import { joined } from '../status/probe.js';
import { lagReasons, type ReadinessParts } from '../status/readiness.js';
import { createWaysOut } from './handlers/ways-out.js';
import type { Clock, Role } from './role.js';

const POSITION_WITHIN_MS = 2_000;

export interface QueryPorts {
  /** The read models. */
  readonly db: Database;
  /** Whether the read models' database did not answer its latest probe: then the probe says why. */
  readonly isDatabaseAway: () => boolean;
  readonly log: Log;
  /** Number of commands in the log, at most about a second old. */
  readonly logLength: () => number;
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  /** The assets that have prices. */
  readonly assets: readonly string[];
  readonly streamLimits: StreamLimits;
  /** Records that a read model may lag without being a reason not to send requests here. */
  readonly maxLag: number;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Takes each error of the price streams' reads. */
  readonly priceStreamFailed: Recurring;
}

export const query: Role<QueryPorts> = {
  async start({ db, isDatabaseAway, log, logLength, chains, assets, streamLimits, maxLag, clock, priceStreamFailed }) {
    // `begin` reads the stablecoin, which `/api/v1/config` shows, and checks the contracts that are read for unresolved markets.
    for (const access of chains.values()) await access.begin(() => Promise.resolve());
    // The probe says why the whole database does not answer.
    const unread = (): ReadinessParts => ({ reasons: isDatabaseAway() ? [] : ['the read models cannot be read'] });
    const feed = createPriceFeed({ db, onError: (error) => { priceStreamFailed(String(error)); } });
    const streams = createPriceStreams(feed, streamLimits);
    const history = createHistory({ db, log, now: () => clock.monotonic() });
    const waysOut = createWaysOut({ chains, monotonic: () => clock.monotonic() });
    const now = () => clock.now();
    return {
      routes: serve(readEndpoints, { db, log, now, assets, sourceUrls: SOURCE_URLS, streams, history, waysOut }),
      figures: [...streams.figures, ...history.figures], failed: neverFails,
      // The read models are closed with the shared parts.
      stop: () => feed.close(),
      health: joined(async (): Promise<ReadinessParts> => {
        try {
          const position = await within(db.position(), POSITION_WITHIN_MS);
          if (position === undefined) return unread();
          const lag = Math.max(0, logLength() - 1 - position);
          return { reasons: lagReasons('the slowest read model', lag, maxLag), readModels: { position, lag } };
        } catch {
          return unread();
        }
      }),
    };
  },
};
