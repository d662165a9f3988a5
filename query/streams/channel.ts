/** The names of the streams' channels: `book:{marketId}`, `trades:{marketId}`, `orders:{address}`, `prices:{asset}` and `markets`. */
import { RequestError, type ErrorCode } from '../../engine/records/errors.js';
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
      const marketId = valueIn(text, kind.marketId, value);
      return { kind: form, name: `${form}:${marketId}`, marketId };
    }
    case 'orders': {
      const trader = valueIn(text, kind.address, value);
      return { kind: form, name: `orders:${trader}`, trader };
    }
    case 'prices': {
      const asset = valueIn(text, kind.asset, value);
      return { kind: form, name: `prices:${asset}`, asset };
    }
    default:
      if (text === 'markets') return { kind: text, name: text };
      throw refused(`has ${shown(text)}, which is not a channel: a channel is ${FORMS}`);
  }
}

/** What follows the colon. Throws RequestError, which names the channel: there may be fifty. */
function valueIn<T>(channel: string, { parse }: kind.RequestField<T>, given: string): T {
  const value = parse(given);
  if (!(value instanceof kind.FieldFault)) return value;
  throw refused(`has ${shown(channel)}: what follows the colon ${value.message}`, value.code);
}

const shown = (channel: string): string => JSON.stringify(channel.slice(0, 100));

function refused(message: string, code: ErrorCode = 'invalid_request'): RequestError {
  return new RequestError(code, '', [{ field: '/channels', message }]);
}
