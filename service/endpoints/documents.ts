/**
 * The documents about the interfaces: OpenAPI and AsyncAPI. Written when they are first asked for: together they take
 * 70 ms.
 */
import { asyncapiDocument } from '../../command/feed/documents/asyncapi.js';
import { Type } from '../../engine/records/schema-types.js';
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
  id: 'getAsyncapi', path: '/asyncapi.json', summary: 'The fill feed',
  description: 'The fill feed as an AsyncAPI 3.0 document: Kafka topics with every fill and what became of it. The feed is there where the operators run Kafka.',
  answer: {
    description: 'The document.', schema: Type.Object({ asyncapi: Type.String() }), examples: { document: { asyncapi: '3.0.0' } },
  },
  limit: 'none',
}, () => answerOnce(asyncapiDocument));

function answerOnce(write: () => object): () => { readonly body: string } {
  let body: string | undefined;
  return () => ({ body: body ??= JSON.stringify(write()) });
}
