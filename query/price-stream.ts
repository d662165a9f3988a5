/** The price streams of a process. */
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { defineEndpoint, type Context, type StreamReply } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import { inHeader, inQuery } from '../service/api/parameter.js';
import * as kind from '../service/api/request-fields.js';
import { asset, AssetPrice, PriceUsd, requireAsset, type Assets } from './asset.js';
import type { Places } from './places.js';
import type { PriceFeed } from './price-feed.js';
import { read } from './reading.js';

interface StreamParams {
  readonly asset: string;
  /** Log positions of the last event that the client has; the first one counts that is given. */
  readonly after: number | undefined;
  readonly afterFirst: number | undefined;
}

export interface PriceStreams {
  readonly follow: (params: StreamParams, context: Pick<Context, 'ip'>) => Promise<StreamReply>;
  /** Number of open streams. */
  open(): number;
}

/** For proxies that would otherwise collect an answer before they pass it on. */
const UNBUFFERED = { 'X-Accel-Buffering': 'no' };

/** How many streams a process may have, of prices and of channels: of its connections, half are left to others. */
export function mostPriceStreams({ maxConnections }: { readonly maxConnections: number }): number {
  return Math.max(1, Math.floor(maxConnections / 2));
}

export function createPriceStreams(feed: PriceFeed, places: Places): PriceStreams {
  let open = 0;
  return {
    async follow({ asset, after, afterFirst }, { ip }) {
      const leave = places.enter(ip);
      open += 1;
      const ended = (): void => {
        open -= 1;
        leave();
      };
      try {
        return { ...await feed.listen({ asset, after: after ?? afterFirst, ended }), headers: UNBUFFERED };
      } catch (error) {
        ended();
        throw error;
      }
    },
    open: () => open,
  };
}

export const streamPrices = defineEndpoint({
  ...read, tag: 'Streams',
  id: 'streamPrices', path: '/api/v1/prices/{asset}/stream', summary: 'The prices of an asset as they come',
  description: 'Server-sent events, for `EventSource`. The newest price is sent at once, then each new one. An event is unnamed; its `id` is a log position, and its '
    + '`data` is JSON as described. Comments keep a quiet stream open. After a lost connection, `EventSource` sends the last id by itself and gets what it missed, of '
    + 'about 20 minutes, and nothing twice. It gives up when an answer is an error: then make a new one, with `last_event_id`. A client that does not read is cut off.',
  parameters: {
    asset,
    after: inHeader('Last-Event-ID', kind.optional(kind.position), { description: 'Send the prices after this event, as far as they are kept.', example: 4_217 }),
    afterFirst: inQuery('last_event_id', kind.optional(kind.position), {
      description: 'The same for a new `EventSource`, which cannot send the header. The header, which it sends when it connects again, comes first.', example: 4_217,
    }),
  },
  consistent: false,
  errors: ['unknown_asset', 'unavailable', 'too_many_streams', 'overloaded'],
  answer: {
    description: 'The stream. The schema is that of the `data` of an event.',
    contentType: 'text/event-stream', stream: true,
    schema: field.answer('PriceEvent', {
      asset: field.Asset, price: AssetPrice, priceUSD: PriceUsd, timestamp: field.integer('When the source published the price, Unix milliseconds.'),
      source: Type.String({ description: 'Name of the source: pyth, coinbase, binance or simulated.' }),
    }),
    examples: {
      price: { asset: 'BTC', price: 6_140_993_501_000, priceUSD: 61_409.93501, timestamp: example.placedAt * 1_000, source: 'pyth' },
    },
  },
}, (ports: Assets & { readonly priceStreams: PriceStreams }) => (params, context) => {
  requireAsset(params.asset, ports);
  return ports.priceStreams.follow(params, context);
});
