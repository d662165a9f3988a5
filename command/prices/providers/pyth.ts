/** Pyth's prices, from a Hermes server: one stream of server-sent events, and single requests for past prices. */
import { BadMessage, jsonObject, listOf, mantissaE8, objectOf, positive, shown, timeMs, type Observation } from '../observation.js';
import type { PriceSource } from '../price-source.js';
import { eventStreamTransport } from './event-stream.js';
import type { ProviderAccess } from './request.js';
import type { SourceMessage } from './standing-stream.js';
import { createStreamedSource, type ProviderOptions } from './streamed-source.js';

export interface PythOptions extends ProviderOptions {
  /** Absent for a server that asks for none. */
  readonly key?: string | undefined;
  /** Feed ids by asset, lower case without 0x. */
  readonly feeds: Readonly<Record<string, string>>;
}

export function createPyth({ key, feeds, ...options }: PythOptions): PriceSource {
  const { url, ports: { fetch, now } } = options;
  const access: ProviderAccess = {
    fetch, now,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    conceal: (text) => key === undefined ? text : text.replaceAll(key, '(key)'),
  };
  const assetOf = new Map(Object.entries(feeds).map(([asset, id]) => [id, asset]));
  const read = (body: Readonly<Record<string, unknown>>): Observation[] => listOf(body['parsed']).flatMap((update) => observationOf(update, assetOf));
  return createStreamedSource({
    ...options, name: 'pyth', assets: [...assetOf.values()], access,
    read: (message) => read(updateOf(message)),
    transport: eventStreamTransport({ url: `${url}/v2/updates/price/stream?${query([...assetOf.keys()])}`, access }),
    /**
     * At most one: the first at or after `fromMs`. Each second would be a request, and ten in ten seconds are allowed.
     */
    async since(get, asset, { fromMs, toMs }) {
      const id = feeds[asset];
      if (id === undefined) return [];
      const found = read(objectOf(await get(`${url}/v2/updates/price/${Math.ceil(fromMs / 1_000)}?${query([id])}`)));
      return found.filter((each) => each.asset === asset && each.publishedAtMs >= fromMs && each.publishedAtMs <= toMs)
        .slice(0, 1);
    },
  });
}

function query(ids: readonly string[]): string {
  return `${ids.map((id) => `ids[]=${id}`).join('&')}&parsed=true`;
}

/**
 * An event named `error` tells what the server has to say, for example that a day is over; the server closes the stream
 * itself if it must.
 */
function updateOf({ event, text }: SourceMessage): Readonly<Record<string, unknown>> {
  if (event === 'error') throw new BadMessage(`says: ${shown(text)}`);
  return event === undefined || event === 'message' ? jsonObject(text) : { parsed: [] };
}

function observationOf(update: unknown, assetOf: ReadonlyMap<string, string>): Observation[] {
  const { id, price } = objectOf(update);
  if (typeof id !== 'string') throw new BadMessage(`not the id of a feed: ${shown(id)}`);
  const asset = assetOf.get(id.toLowerCase().replace(/^0x/, ''));
  if (asset === undefined) return [];
  const { price: mantissa, conf, expo, publish_time: second } = objectOf(price);
  const priceE8 = positive(mantissaE8(mantissa, expo));
  return [{ asset, source: 'pyth', priceE8, confidenceE8: mantissaE8(conf, expo), publishedAtMs: timeMs(timeMs(second) * 1_000) }];
}
