/**
 * The documents about the interfaces: OpenAPI and AsyncAPI. Written when they are first asked for: together they take
 * 70 ms.
 */
import { asyncapiDocument } from '../../command/feed/documents/asyncapi.js';
import { Type } from '../../engine/records/schema-types.js';
import { streamsDocument } from '../../query/streams/asyncapi.js';
import { defineEndpoint } from '../api/endpoint.js';
import { ofEveryProcess } from '../api/of-every-process.js';

export const getOpenapi = defineEndpoint({
  ...ofEveryProcess,
  id: 'getOpenapi', path: '/openapi.json', summary: 'This document', description: 'The API as an OpenAPI 3.1 document; /docs shows it as a page. Its server is the address at which it is read.',
  answer: {
    description: 'The document.', schema: Type.Object({ openapi: Type.String() }), examples: { document: { openapi: '3.1.0' } },
  },
  limit: 'none',
}, ({ openapi }: { readonly openapi: () => object }) => {
  let rest: string | undefined;
  // The address at which the document was read is the one at which the API is: behind a proxy, the public one.
  return (_, { url = '/' }) => {
    rest ??= JSON.stringify({ ...openapi(), servers: undefined }).slice(1);
    return { body: `{"servers":${JSON.stringify([{ url, description: 'Where this document was read.' }])},${rest}` };
  };
});

export const getAsyncapi = defineEndpoint({
  ...ofEveryProcess,
  id: 'getAsyncapi', path: '/asyncapi.json', summary: 'The streams and the fill feed',
  description: 'An AsyncAPI 3.0 document of the streams, by server-sent events and by WebSocket, and of the fill feed: Kafka topics with every fill and what became of it. '
    + 'The feed is there where the operators run Kafka.',
  answer: {
    description: 'The document.', schema: Type.Object({ asyncapi: Type.String() }), examples: { document: { asyncapi: '3.0.0' } },
  },
  limit: 'none',
}, () => answerOnce(asyncapiOfAll));

/** The streams and the fill feed in one document. Throws where both have something of the same name. */
export function asyncapiOfAll(): object {
  const [feed, streams] = [asyncapiDocument(), streamsDocument()];
  const { servers, channels, operations, components } = feed;
  return {
    ...feed,
    info: { ...feed.info, title: 'Prediction exchange: streams and fill feed', description: `${STREAMS} ${feed.info.description}` },
    servers: both(servers, streams.servers), channels: both(channels, streams.channels), operations: both(operations, streams.operations),
    components: {
      messages: both(components.messages, streams.components.messages), schemas: both(components.schemas, streams.components.schemas),
    },
  };
}

const STREAMS = 'The streams tell what happens as it happens, from any position of the history; `docs/streams.md` has examples. The fill feed:';

function both(one: object, other: object): object {
  const twice = Object.keys(one).filter((name) => Object.hasOwn(other, name));
  if (twice.length > 0) throw new Error(`the fill feed and the streams both have ${twice.join(', ')}`);
  return { ...one, ...other };
}

function answerOnce(write: () => object): () => { readonly body: string } {
  let body: string | undefined;
  return () => ({ body: body ??= JSON.stringify(write()) });
}
