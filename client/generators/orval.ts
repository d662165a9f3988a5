/** Trades with the client that orval generates. It waits for the whole of each answer, so it has no streams. */
import { cancelOrder, getConfig, listMarkets, listOrders, placeOrder } from './generated/orval.js';
import { first, trade } from './trade.js';

// Its functions have the document's server in front of their paths: the address at which the document was read.
await trade({
  async signing() {
    const { status, data } = await getConfig();
    if (status !== 200) throw new Error(JSON.stringify(data));
    const { orderDomain, signedActions } = first(data.chains, 'chain');
    return { domain: orderDomain, orderTypes: { ...data.orderTypes }, cancelTypes: signedActions.cancel.types };
  },
  async market() {
    const { status, data } = await listMarkets();
    if (status !== 200) throw new Error(JSON.stringify(data));
    return first(data.markets, 'market').id;
  },
  async place(body) {
    const { status, data, headers } = await placeOrder(body);
    if (status !== 200) throw new Error(JSON.stringify(data));
    return { orderHash: data.orderHash, position: Number(headers.get('X-Log-Position')) };
  },
  async refusal(body) {
    const { status, data } = await placeOrder(body);
    return status === 200 ? 'none' : data.code;
  },
  async orders({ position, ...query }) {
    const { status, data } = await listOrders(query, { headers: { 'X-Min-Log-Position': String(position) } });
    if (status !== 200) throw new Error(JSON.stringify(data));
    return { orderHashes: data.orders.map(({ orderHash }) => orderHash), nextCursor: data.nextCursor };
  },
  async cancel({ orderHash, marketId, signature, deadline }) {
    const headers = { 'X-Cancel-Signature': signature, 'X-Cancel-Deadline': deadline };
    const { status, data } = await cancelOrder(orderHash, { marketId }, { headers });
    if (status !== 200) throw new Error(JSON.stringify(data));
    return data.status;
  },
}, 'orval');
process.exit();
