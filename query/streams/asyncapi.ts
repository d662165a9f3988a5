/**
 * The streams' part of the AsyncAPI 3.0 document: what server-sent events and the WebSocket carry, and the channels of
 * both. Its schemas are those of the messages, in the plain form that code generators take: named objects, and `enum`.
 */
import { nameOf } from '../../engine/records/named-schema.js';
import { withFormat } from '../../service/api/documented-schema.js';
import { MAX_CHANNELS } from './channel.js';
import { messageSchemas, StreamError, StreamHeartbeat, Subscribed, Unsubscribed } from './message-fields.js';
import { subscribe, Subscribe, unsubscribe, Unsubscribe } from './socket-requests.js';

type Json = Readonly<Record<string, unknown>>;

const EVENTS = '/api/v1/stream';
const WEB_SOCKET = '/api/v1/ws';
const HTTP_BINDING = '0.3.0';
const WS_BINDING = '0.1.0';

/** The channels that clients name, with what stands in their names. */
const CHANNELS = {
  book: { address: 'book:{marketId}', title: 'Book', parameter: 'marketId', description: 'The books of a market: a snapshot, then each change.' },
  trades: { address: 'trades:{marketId}', title: 'Trades', parameter: 'marketId', description: 'The fills of a market, and what became of each on the chain.' },
  orders: { address: 'orders:{address}', title: 'Orders', parameter: 'address', description: 'The life of a trader\'s orders.' },
  prices: { address: 'prices:{asset}', title: 'Prices', parameter: 'asset', description: 'The prices of an asset.' },
  markets: { address: 'markets', title: 'Markets', parameter: undefined, description: 'What happens to markets.' },
} as const satisfies Record<keyof typeof messageSchemas, object>;
type Kind = keyof typeof CHANNELS;
const KINDS = Object.keys(CHANNELS) as Kind[];

const PARAMETERS = {
  marketId: 'Id of the market, hex in lower case.', address: 'Address of the trader, hex in lower case.', asset: 'The asset in upper case, such as BTC.',
};

/** Its parts, which stand beside those of the fill feed. */
export function streamsDocument() {
  const told = KINDS.flatMap((kind) => messageSchemas[kind].map(nameIn));
  const spoken = { Subscribe, Unsubscribe, Subscribed, Unsubscribed, StreamHeartbeat, StreamError };
  const schemas: Record<string, Json> = {};
  const all = [...Object.values(messageSchemas).flat(), ...Object.values(spoken)];
  const examples: Readonly<Record<string, Json>> = { Subscribe: subscribe.examples, Unsubscribe: unsubscribe.examples };
  const messages = Object.fromEntries(all.map((schema) => {
    const name = nameIn(schema);
    return [name, {
      name, title: name, summary: summaryOf(schema), contentType: 'application/json', payload: plain(schema, schemas),
      ...examples[name] && { examples: Object.entries(examples[name]).map(([summary, payload]) => ({ summary, payload })) },
    }];
  }));
  return {
    servers: {
      events: server('http', 'Server-sent events.'), webSocket: server('ws', 'WebSocket. Web pages of any origin may connect; there is nothing to authorise.'),
    },
    channels: {
      stream: channel({ address: EVENTS, title: 'Server-sent events', servers: ['events'] }, [...told, 'StreamError'], {
        description: 'What is asked for, until the client goes. The data of an event is a message; its id is the log position, which `Last-Event-ID` takes.',
      }),
      socket: channel({ address: WEB_SOCKET, title: 'WebSocket', servers: ['webSocket'] }, [...told, ...Object.keys(spoken)], {
        description: `Texts of JSON in both directions. Up to ${MAX_CHANNELS} channels on a connection.`,
        bindings: { ws: { method: 'GET', bindingVersion: WS_BINDING } },
      }),
      ...Object.fromEntries(KINDS.map((kind) => [kind, namedChannel(kind)])),
    },
    operations: {
      streamEvents: {
        ...operation('send', 'stream', [...told, 'StreamError'], 'The exchange sends what the query asks for.'),
        bindings: { http: { method: 'GET', query: QUERY, bindingVersion: HTTP_BINDING } },
      },
      streamFrames: operation('send', 'socket', [...told, 'StreamHeartbeat', 'StreamError'], 'The exchange sends what has been subscribed to.'),
      subscribe: answered('Subscribe', 'Subscribed', 'The client asks for channels. One after the other, each request has one answer.'),
      unsubscribe: answered('Unsubscribe', 'Unsubscribed', 'The client no longer wants channels.'),
      ...Object.fromEntries(KINDS.map((kind) => (
        [`tell${CHANNELS[kind].title}`, operation('send', kind, messageSchemas[kind].map(nameIn), CHANNELS[kind].description)]))),
    },
    components: { messages, schemas },
  };
}

function server(protocol: string, description: string): Json {
  return {
    host: '{exchange}', protocol, description, variables: { exchange: { description: 'host:port of the exchange.', default: '127.0.0.1:8080' } },
  };
}

/** The parameters of the request for server-sent events. */
const QUERY = {
  type: 'object', required: ['channels'],
  properties: {
    channels: { type: 'string', description: `1 to ${MAX_CHANNELS} channels with commas between them.` },
    from: { type: 'integer', minimum: -1, description: 'The last position that the client has; -1: the whole history. Without it: from now on.' },
  },
};

interface Place {
  readonly address: string;
  readonly title: string;
  readonly servers: readonly string[];
}

function channel({ servers, ...place }: Place, messages: readonly string[], more: Json): Json {
  return {
    ...place, ...more, servers: servers.map((name) => ({ $ref: `#/servers/${name}` })),
    messages: Object.fromEntries(messages.map((name) => [name, { $ref: `#/components/messages/${name}` }])),
  };
}

function namedChannel(kind: Kind): Json {
  const { address, title, parameter, description } = CHANNELS[kind];
  const parameters = parameter === undefined ? {} : { parameters: { [parameter]: { description: PARAMETERS[parameter] } } };
  return channel({ address, title, servers: ['events', 'webSocket'] }, messageSchemas[kind].map(nameIn), {
    description: `${description} The address is the name that clients ask for.`, ...parameters,
  });
}

function operation(action: 'send' | 'receive', name: string, messages: readonly string[], summary: string): Json {
  return { action, channel: { $ref: `#/channels/${name}` }, summary, messages: messages.map((each) => ({ $ref: `#/channels/${name}/messages/${each}` })) };
}

function answered(request: string, answer: string, summary: string): Json {
  const { channel: socket, messages } = operation('send', 'socket', [answer, 'StreamError'], '');
  return { ...operation('receive', 'socket', [request], summary), reply: { channel: socket, messages } };
}

function nameIn(schema: object): string {
  const name = nameOf(schema)?.name;
  if (name === undefined) throw new Error('a message without a name');
  return name;
}

function summaryOf({ properties }: { readonly properties?: unknown }): string {
  return (properties as { readonly type: { readonly description: string } }).type.description;
}

/** The schema without what generators make bad classes of. Named objects and enumerations are written once, into `schemas`. */
function plain(schema: object, schemas: Record<string, Json>): Json {
  const found = nameOf(schema);
  const written = partsOf(schema, schemas);
  if (found === undefined || !('properties' in written || 'enum' in written)) return written;
  const { name, original } = found;
  schemas[name] ??= { title: name, ...partsOf(original, schemas) };
  return { $ref: `#/components/schemas/${name}` };
}

function partsOf(schema: object, schemas: Record<string, Json>): Json {
  const write = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(write);
    return typeof value === 'object' && value !== null ? plain(value, schemas) : value;
  };
  return Object.fromEntries(Object.entries(withFormat(withEnum(schema as Json))).map(([key, value]) => [key, write(value)]));
}

/** A choice of constants as an enumeration. */
function withEnum({ anyOf, ...rest }: Json): Json {
  if (!Array.isArray(anyOf)) return rest;
  const constants = anyOf.flatMap((each: Json) => 'const' in each ? [each['const']] : []);
  return constants.length === anyOf.length ? { type: typeof constants[0], enum: constants, ...rest } : { anyOf, ...rest };
}
