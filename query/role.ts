/** The query role: answers reads from the read models, and the history from the log. */
import type { Log } from '../engine/log/log.js';
import { neverFails, type Clock, type Role } from '../engine/running-role.js';
import { reading } from '../engine/state-table.js';
import { joined, within } from '../engine/waiting.js';
import { serve, type ServingRole } from '../service/api/endpoint.js';
import type { Database } from './database.js';
import { readEndpoints } from './endpoints.js';
import { createHistory } from './history/list-events.js';
import { createPriceFeed } from './price-feed.js';
import { createPlaces, type PlaceLimits } from './places.js';
import { createPriceStreams } from './price-stream.js';
import type { SourceUrls } from './prices.js';
import type { Unresolved, OfferedResolution } from './resolution.js';
import { readModelsState, streamsState } from './role-state.js';
import { createShare } from './shared.js';
import { createStreams } from './streams/streams.js';

const POSITION_WITHIN_MS = 2_000;

export interface QueryPorts {
  /** The read models. */
  readonly db: Database;
  /** Whether the read models' database did not answer its latest probe: then the probe says why. */
  readonly isDatabaseAway: () => boolean;
  readonly log: Log;
  /** Number of commands in the log, at most about a second old. */
  readonly logLength: () => number;
  /** What the chain would take of an unresolved market at present; undefined where that is not known. */
  readonly resolutionOptions: (market: Unresolved) => Promise<OfferedResolution | undefined>;
  /** Where each price source shows the past of an asset. */
  readonly sourceUrls: SourceUrls;
  /** The assets that have prices. */
  readonly assets: readonly string[];
  /** How many streams there may be, of prices and of channels together. */
  readonly streamLimits: PlaceLimits;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Takes each error of the price streams' reads. */
  readonly priceStreamFailed: (error: string) => void;
  /** Takes each error that ends streams of channels. */
  readonly streamFailed: (error: string) => void;
}

export const query: Role<QueryPorts, ServingRole> = {
  start({ db, isDatabaseAway, log, logLength, resolutionOptions, sourceUrls, assets, streamLimits, clock, priceStreamFailed, streamFailed }) {
    // The probe says why the whole database does not answer.
    const unread = () => isDatabaseAway() ? [] : undefined;
    const feed = createPriceFeed({ db, onError: (error) => { priceStreamFailed(String(error)); } });
    const places = createPlaces('streams', streamLimits);
    const priceStreams = createPriceStreams(feed, places);
    const streams = createStreams({ db, log, places, assets, onError: (error) => { streamFailed(String(error)); } });
    const history = createHistory({ db, log, now: () => clock.monotonic() });
    const now = () => clock.now();
    return Promise.resolve({
      routes: serve(readEndpoints, {
        db, share: createShare(db), log, now, assets, sourceUrls, priceStreams, streams, history, resolutionOptions,
      }),
      failed: neverFails(),
      // The read models are closed with the shared parts.
      stop: async () => { await Promise.all([feed.close(), streams.close()]); },
      state: [
        reading(readModelsState, joined(async () => {
          const position = await within(db.position(), POSITION_WITHIN_MS).catch(() => undefined);
          return position === undefined ? unread() : [{ position, lag: Math.max(0, logLength() - 1 - position) }];
        })),
        reading(streamsState, () => [{
          prices: priceStreams.open(), pricesCutOff: feed.cutOff(), channels: streams.open(), channelsCutOff: streams.cutOff(),
          channelsWaiting: streams.waiting(), history: history.open(),
        }]),
      ],
    });
  },
};
