/** `GET /ws`: the channels of the streams over WebSocket. */
import { defineEndpoint } from '../../service/api/endpoint.js';
import { read } from '../reading.js';
import { MAX_CHANNELS } from './channel.js';
import { StreamMessage } from './message-fields.js';
import type { Streams } from './streams.js';

export const openWebSocket = defineEndpoint({
  ...read, tag: 'Streams', consistent: false,
  id: 'openWebSocket', path: '/api/v1/ws', summary: 'The same messages over WebSocket',
  description: 'A WebSocket (RFC 6455, version 13), on which the client says which channels it wants: `{"type":"subscribe","channels":["markets"],"from":4217}` is answered '
    + 'by `subscribed`, `{"type":"unsubscribe","channels":["markets"]}` by `unsubscribed`, and what cannot be done by `error`. The messages of a channel are those of '
    + `\`GET /api/v1/stream\`, and \`from\` means the same. Up to ${MAX_CHANNELS} channels on a connection. \`/asyncapi.json\` describes every message, docs/streams.md has an `
    + 'example. Web pages of any origin may connect: nothing here needs an authority.',
  parameters: {},
  errors: ['invalid_request', 'upgrade_required', 'too_many_streams', 'overloaded'],
  answer: {
    description: 'The connection is a WebSocket from here on: texts of JSON, as `/asyncapi.json` describes them.',
    webSocket: true, schema: StreamMessage, examples: {},
  },
}, ({ streams }: { readonly streams: Streams }) => (_, context) => streams.converse(context));
