/** The names of the streams' channels: `book:{marketId}`, `trades:{marketId}`, `orders:{address}`, `prices:{asset}` and `markets`. */
import { RequestError } from '../../engine/records/errors.js';
import * as kind from '../../service/api/request-fields.js';

/** The most channels of one connection. */
export const MAX_CHANNELS = 50;

export type Channel
  = | { readonly kind: 'book' | 'trades'; readonly name: string; readonly marketId: string }
    | { readonly kind: 'orders'; readonly name: string; readonly trader: string }
    | { readonly kind: 'prices'; readonly name: string; readonly asset: string }
    | { readonly kind: 'markets'; readonly name: string };

const FORMS = 'book:{marketId}, trades:{marketId}, orders:{address}, prices:{asset} or markets';

/**
 * The channels of these names, each once. Hex digits may be of any case, and so may an asset; in messages a name has hex in lower case and the
 * asset in upper case. Throws RequestError `invalid_request`, `invalid_market_id`, `invalid_address`, `unknown_asset`.
 */
export function channelsOf(names: readonly string[]): Channel[] {
  if (names.length === 0) throw refused(`has at least one of ${FORMS}`);
  const channels = new Map(names.map((name) => {
    const channel = channelOf(name);
    return [channel.name, channel];
  }));
  if (channels.size > MAX_CHANNELS) throw refused(`has at most ${MAX_CHANNELS} channels, not ${channels.size}`);
  return [...channels.values()];
}

function channelOf(text: string): Channel {
  const [form, ...rest] = text.split(':');
  const value = rest.join(':');
  switch (form) {
    case 'book': case 'trades': {
      const marketId = kind.valueOf('channels', kind.marketId, value);
      return { kind: form, name: `${form}:${marketId}`, marketId };
    }
    case 'orders': {
      const trader = kind.valueOf('channels', kind.address, value);
      return { kind: form, name: `orders:${trader}`, trader };
    }
    case 'prices': {
      const asset = kind.valueOf('channels', kind.asset, value);
      return { kind: form, name: `prices:${asset}`, asset };
    }
    default:
      if (text === 'markets') return { kind: text, name: text };
      throw refused(`has ${JSON.stringify(text.slice(0, 100))}, which is not a channel: a channel is ${FORMS}`);
  }
}

function refused(message: string): RequestError {
  return new RequestError('invalid_request', '', [{ field: '/channels', message }]);
}
