/** Trades with the client that \@hey-api/openapi-ts generates; a stream is an iterator there. */
import { client } from './generated/hey-api/client.gen.js';
import { cancelOrder, getConfig, getStream, listMarkets, listOrders, placeOrder } from './generated/hey-api/sdk.gen.js';
import { first, trade } from './trade.js';

client.setConfig({ baseUrl: process.argv[2] ?? '' });

/** Errors are thrown. */
const throwOnError = true;

await trade({
  async signing() {
    const { data: { chains, orderTypes } } = await getConfig({ throwOnError });
    const { orderDomain, signedActions } = first(chains, 'chain');
    return { domain: orderDomain, orderTypes: { ...orderTypes }, cancelTypes: signedActions.cancel.types };
  },
  async market() {
    const { data } = await listMarkets({ throwOnError });
    return first(data.markets, 'market').id;
  },
  async place(body) {
    const { data, response } = await placeOrder({ body, throwOnError });
    return { orderHash: data.orderHash, position: Number(response.headers.get('X-Log-Position')) };
  },
  async refusal(body) {
    const { error } = await placeOrder({ body });
    return error?.code ?? 'none';
  },
  async orders({ position, ...query }) {
    const { data: { orders, nextCursor } } = await listOrders({ query, headers: { 'X-Min-Log-Position': position }, throwOnError });
    return { orderHashes: orders.map(({ orderHash }) => orderHash), nextCursor };
  },
  async cancel({ orderHash, marketId, signature, deadline }) {
    const headers = { 'X-Cancel-Signature': signature, 'X-Cancel-Deadline': deadline };
    const { data } = await cancelOrder({ path: { hash: orderHash }, query: { marketId }, headers, throwOnError });
    return data.status;
  },
  async firstMessage(marketId) {
    const { stream } = await getStream({ query: { channels: `book:${marketId}` } });
    for await (const message of stream) return message.type;
    throw new Error('the stream has ended');
  },
}, 'hey-api');
process.exit();
