/** The price streams of a process: who may have one, and how many there are. */
import { RequestError } from '../../../engine/records/errors.js';
import type { PriceFeed } from '../../../query/price-feed.js';
import type { ReadHandlers } from '../../api/endpoints.js';
import { addressKey } from '../../http/limits.js';

export interface StreamLimits {
  /** Streams of the process. */
  readonly maxPriceStreams: number;
  /** Streams of one client address; 0 = no limit. IPv6 clients are counted by their /56 prefix. */
  readonly maxPriceStreamsPerAddress: number;
}

export interface PriceStreams {
  readonly follow: ReadHandlers['streamPrices'];
  /** Number of open streams. */
  open(): number;
}

/** When a client that was refused may ask again. */
const RETRY_AFTER_S = 5;

/** For proxies that would otherwise collect an answer before they pass it on. */
const UNBUFFERED = { 'X-Accel-Buffering': 'no' };

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
      const address = addressKey(ip);
      enter(address);
      try {
        return { ...await feed.listen({ asset, after: after ?? afterFirst, ended: () => { leave(address); } }), headers: UNBUFFERED };
      } catch (error) {
        leave(address);
        throw error;
      }
    },
    open: () => open,
  };
}
