/** The price streams of a process: who may have one, and how many there are. */
import { RequestError } from '../engine/records/errors.js';
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { defineEndpoint, type Context, type StreamReply } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import { inHeader, inQuery } from '../service/api/parameter.js';
import * as kind from '../service/api/request-fields.js';
import { asset, AssetPrice, PriceUsd, requireAsset, type Assets } from './asset.js';
import type { PriceFeed } from './price-feed.js';
import { read } from './reading.js';

export interface StreamLimits {
  /** Streams of the process. */
  readonly maxPriceStreams: number;
  /** Streams of one client address; 0 = no limit. IPv6 clients are counted by their /56 prefix. */
  readonly maxPriceStreamsPerAddress: number;
}

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

/** When a client that was refused may ask again. */
const RETRY_AFTER_S = 5;

/** For proxies that would otherwise collect an answer before they pass it on. */
const UNBUFFERED = { 'X-Accel-Buffering': 'no' };

/** How many streams a process may have: of its connections, half are left to others. */
export function mostPriceStreams({ maxConnections }: { readonly maxConnections: number }): number {
  return Math.max(1, Math.floor(maxConnections / 2));
}

export function createPriceStreams(feed: PriceFeed, { maxPriceStreams, maxPriceStreamsPerAddress }: StreamLimits): PriceStreams {
  const byAddress = new Map<string, number>();
  let open = 0;

  /** Throws RequestError `overloaded`, `too_many_streams`. */
  const enter = (address: string): void => {
    const own = byAddress.get(address) ?? 0;
    const retry = { retryAfterS: RETRY_AFTER_S };
    if (open >= maxPriceStreams) throw new RequestError('overloaded', `${maxPriceStreams} price streams are open`, [], retry);
    if (maxPriceStreamsPerAddress > 0 && own >= maxPriceStreamsPerAddress) {
      throw new RequestError('too_many_streams', `at most ${maxPriceStreamsPerAddress}`, [], retry);
    }
    open += 1;
    byAddress.set(address, own + 1);
  };
  const leave = (address: string): void => {
    open -= 1;
    const left = (byAddress.get(address) ?? 1) - 1;
    if (left === 0) byAddress.delete(address); else byAddress.set(address, left);
  };

  return {
    async follow({ asset, after, afterFirst }, { ip }) {
      enter(ip);
      try {
        return { ...await feed.listen({ asset, after: after ?? afterFirst, ended: () => { leave(ip); } }), headers: UNBUFFERED };
      } catch (error) {
        leave(ip);
        throw error;
      }
    },
    open: () => open,
  };
}

export const streamPrices = defineEndpoint({
  ...read, tag: 'Prices',
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
}, (ports: Assets & { readonly streams: PriceStreams }) => (params, context) => {
  requireAsset(params.asset, ports);
  return ports.streams.follow(params, context);
});
