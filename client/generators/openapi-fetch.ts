/** Trades with openapi-fetch, whose types openapi-typescript generates. Its caller reads a stream piece by piece. */
import createClient from 'openapi-fetch';
import type { paths } from './generated/openapi-typescript.js';
import { first, trade } from './trade.js';

const { POST, GET, DELETE } = createClient<paths>({ baseUrl: process.argv[2] ?? '' });

/** The data of an answer; an error throws with its code. */
function dataOf<T>({ data, error }: { data?: T; error?: { code?: string } | { success: false } | string }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

await trade({
  async signing() {
    const { chains, orderTypes } = dataOf(await GET('/api/v1/config'));
    const { orderDomain, signedActions } = first(chains, 'chain');
    return { domain: orderDomain, orderTypes, cancelTypes: signedActions.cancel.types };
  },
  async market() {
    return first(dataOf(await GET('/api/v1/markets')).markets, 'market').id;
  },
  async place(body) {
    const answer = await POST('/api/v1/orders', { body });
    return { orderHash: dataOf(answer).orderHash, position: Number(answer.response.headers.get('X-Log-Position')) };
  },
  async refusal(body) {
    const { error } = await POST('/api/v1/orders', { body });
    return error?.code ?? 'none';
  },
  async orders({ position, ...query }) {
    const { orders, nextCursor } = dataOf(await GET('/api/v1/orders', { params: { query, header: { 'X-Min-Log-Position': position } } }));
    return { orderHashes: orders.map(({ orderHash }) => orderHash), nextCursor };
  },
  async cancel({ orderHash, marketId, signature, deadline }) {
    const header = { 'X-Cancel-Signature': signature, 'X-Cancel-Deadline': deadline };
    return dataOf(await DELETE('/api/v1/orders/{hash}', { params: { path: { hash: orderHash }, query: { marketId }, header } })).status;
  },
  async firstMessage(marketId) {
    const gone = new AbortController();
    const { data } = await GET('/api/v1/stream', { params: { query: { channels: `book:${marketId}` } }, parseAs: 'stream', signal: gone.signal });
    let text = '';
    const pieces = (data as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream() as never);
    for await (const piece of pieces as unknown as AsyncIterable<string>) {
      text += piece;
      const [, message] = /^data: (.*)\n\n/m.exec(text) ?? [];
      if (message !== undefined) return (JSON.parse(message) as { type: string }).type;
    }
    throw new Error(`the stream has ended: ${text}`);
  },
}, 'openapi-fetch');
process.exit();
