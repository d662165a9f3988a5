/** What a client of the WebSocket may send: `subscribe` and `unsubscribe`. */
import { RequestError } from '../../engine/records/errors.js';
import { parseJsonObject } from '../../engine/records/exact-json.js';
import { named } from '../../engine/records/named-schema.js';
import { Type } from '../../engine/records/schema-types.js';
import { objectOf } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import * as kind from '../../service/api/request-fields.js';
import { channelsOf, MAX_CHANNELS, type Channel } from './channel.js';

export type SocketRequest
  = | { readonly type: 'subscribe'; readonly channels: readonly Channel[]; readonly from: number | undefined }
    | { readonly type: 'unsubscribe'; readonly channels: readonly Channel[] };

const typeOf = <const T extends string>(type: T, description: string): kind.RequestField<T> => (
  { schema: Type.Literal(type, { description }), required: true, errors: [], parse: () => type });

const channels: kind.RequestField<Channel[]> = {
  schema: Type.Array(Type.String(), {
    minItems: 1, maxItems: MAX_CHANNELS,
    description: '`book:{marketId}`, `trades:{marketId}`, `orders:{address}`, `prices:{asset}`, `markets`. Hex and assets in any case.',
  }),
  required: true, errors: ['invalid_market_id', 'invalid_address', 'unknown_asset'],
  parse: (value) => Array.isArray(value) && value.every((each) => typeof each === 'string')
    ? channelsOf(value)
    : new kind.FieldFault('invalid_request', 'is a list of texts'),
};

const from: kind.RequestField<number | undefined> = {
  schema: Type.Integer({
    minimum: -1, maximum: Number.MAX_SAFE_INTEGER,
    description: 'The last position that you have: all messages after it are sent, without a snapshot. -1: the whole history. Without it: from now on.',
  }),
  required: false, errors: [],
  parse: (value) => {
    if (value === undefined || value === null) return undefined;
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= -1
      ? value
      : new kind.FieldFault('invalid_request', `is -1, or an integer of 0 to ${Number.MAX_SAFE_INTEGER}: the last position that you have`);
  },
};

const shape = { limitBytes: 8 * 1_024, optional: false };
const some = [`book:${example.marketId}`, 'prices:BTC'];

export const subscribe = objectOf({ type: typeOf('subscribe', 'Send the messages of these channels.'), channels, from }, {
  ...shape, examples: { 'from now on': { type: 'subscribe', channels: some }, 'resume': { type: 'subscribe', channels: some, from: 4_217 } },
});
export const unsubscribe = objectOf({ type: typeOf('unsubscribe', 'Send no more messages of these channels.'), channels }, {
  ...shape, examples: { unsubscribe: { type: 'unsubscribe', channels: some } },
});

export const Subscribe = named('Subscribe', subscribe.schema);
export const Unsubscribe = named('Unsubscribe', unsubscribe.schema);

/** Throws RequestError `invalid_json`, `invalid_request`, and those of the channels. */
export function requestIn(message: Uint8Array | undefined): SocketRequest {
  if (message === undefined) throw new RequestError('invalid_request', 'a message is JSON as text, not bytes');
  const { type } = parseJsonObject(message);
  switch (type) {
    case 'subscribe': return subscribe.parse(Buffer.from(message));
    case 'unsubscribe': return unsubscribe.parse(Buffer.from(message));
    default: throw new RequestError('invalid_request', '', [{ field: '/type', message: 'is subscribe or unsubscribe' }]);
  }
}
