/** `GET /stream`: the channels of books, trades, orders, prices and markets as server-sent events. */
import { Type } from '../../engine/records/schema-types.js';
import { defineEndpoint } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { inHeader, inQuery } from '../../service/api/parameter.js';
import * as kind from '../../service/api/request-fields.js';
import { read } from '../reading.js';
import { channelsOf, MAX_CHANNELS } from './channel.js';
import { StreamMessage } from './message-fields.js';
import type { Streams } from './streams.js';

/** A position that a reader has, or -1 for none. */
export const from: kind.RequestField<number | undefined> = {
  schema: Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER }), required: false, errors: [],
  parse(value) {
    if (value === undefined) return undefined;
    if (value === '-1') return -1;
    const position = kind.position.parse(value);
    return position instanceof kind.FieldFault
      ? new kind.FieldFault('invalid_request', `is -1, or an integer of 0 to ${Number.MAX_SAFE_INTEGER}: the last position that you have`)
      : position;
  },
};

const change = {
  channel: `book:${example.marketId}`, position: 4_217, previous: 4_190, type: 'change', at: example.placedAt * 1_000,
  levels: [{ outcome: 0, side: 0, price: 580_000, size: 40_000_000 }],
};

export const getStream = defineEndpoint({
  ...read, tag: 'Streams',
  id: 'getStream', path: '/api/v1/stream', summary: 'Books, trades, own orders, prices and markets as they change, from any position',
  description: 'Server-sent events, for `EventSource`; docs/streams.md tells how to keep a book with them. An event is unnamed, and its `data` is a message as described. '
    + 'Its `id` is the log position, which the last message of a position has: those before have `more`. `previous` is the position of the message before in the same '
    + 'channel: if you have another one, you have missed something.\n\n'
    + 'Without `from`, a book begins with a snapshot, and an asset with its newest price. After a lost connection, `EventSource` sends the last id by itself and gets all '
    + 'messages after it, however old it is. Comments keep a quiet stream open and have the position up to which everything was sent; so does `X-Log-Position` at the beginning. '
    + 'A client that does not read gets a message of type `error`, and is cut off.',
  parameters: {
    channels: inQuery('channels', kind.text(Type.String({ minLength: 1 })), {
      description: `1 to ${MAX_CHANNELS} channels with commas between them: \`book:{marketId}\`, \`trades:{marketId}\`, \`orders:{address}\`, \`prices:{asset}\`, \`markets\`.`,
      example: `book:${example.marketId}`,
    }),
    lastEventId: inHeader('Last-Event-ID', from, { description: 'Send all messages after this position. It comes before `from`.', example: 4_217 }),
    from: inQuery('from', from, {
      description: 'The same for a first connection. -1: the whole history. Without it: from now on.', example: 4_217,
    }),
  },
  errors: [
    'invalid_market_id', 'invalid_address', 'unknown_market', 'unknown_asset', 'not_recorded_yet', 'history_removed', 'not_caught_up', 'unavailable',
    'too_many_streams', 'overloaded',
  ],
  answer: {
    description: 'The stream. The schema is that of the `data` of an event.',
    contentType: 'text/event-stream', stream: true, schema: StreamMessage,
    examples: {
      change,
      trade: {
        channel: `trades:${example.marketId}`, position: 4_218, previous: 4_101, type: 'trade', at: example.placedAt * 1_000, fill: 77, price: 580_000,
        size: 5_000_000, outcome: 0, buyer: example.alice, seller: example.bob, takerSide: 1, more: true,
      },
    },
  },
}, ({ streams }: { readonly streams: Streams }) => ({ channels, lastEventId, from: first }, context) => (
  streams.follow({ channels: channelsOf(channels.split(',')), from: lastEventId ?? first }, context)));
