/** A trader's way through the endpoints: what is asked before and after a trade, and what is asked of several orders. */
import assert from 'node:assert/strict';
import { Wallet, id, type TypedDataField } from 'ethers';
import { alice, lower, signedBody, type ExchangeStack } from '../harness/exchange.js';
import { newCommand } from './commands.js';
import { until } from './until.js';

interface TradedMarket { readonly marketId: string; readonly sent: string; readonly position: number }

/** In the market one fill of 4 shares of YES has settled, at 0.62. `sent` is the body of its taker, a sell at a price that nobody bids any more. */
export async function traderReads(exchange: ExchangeStack, { marketId, sent, position }: TradedMarket): Promise<void> {
  const { candles } = await exchange.get(`/api/v1/candles/${marketId}?outcome=YES&interval=1m`, position) as { candles: { start: number }[] };
  assert.deepEqual(candles.map((candle) => ({ ...candle, start: 0 })), [
    { start: 0, open: 620_000, high: 620_000, low: 620_000, close: 620_000, volume: 2_480_000, trades: 1, closed: false },
  ]);
  const prices = await exchange.get('/api/v1/prices/BTC/candles?interval=1m', position) as { candles: unknown[] };
  assert.equal(prices.candles.length, 1);
  const ticker = await exchange.get(`/api/v1/ticker/${marketId}`, position) as { yes: { lastPrice: number } };
  assert.equal(ticker.yes.lastPrice, 620_000);
  const { order } = JSON.parse(sent) as { order: { size: string | number } };
  const { body } = await exchange.request('POST', '/api/v1/orders/check', { body: JSON.stringify({ order: { ...order, nonce: 4_711 } }) });
  assert.deepEqual([body['accepted'], body['filledSize'], body['restingSize']], [true, 0, Number(order.size)]);
  assert.deepEqual(await exchange.get('/api/v1/status'), { status: 'open', reason: null, detail: null, plannedHalts: [] });
}

const SHARE = 1_000_000;

interface SignedAction { readonly types: Record<string, TypedDataField[]> }

/** Compares every answer as a whole. Resolves with the log position of the last request. */
export async function controlOrders(exchange: ExchangeStack): Promise<number> {
  const { signing: { domain } } = exchange;
  const market = id('end to end: control');
  const opened = await exchange.record(newCommand('OpenMarket', {
    at: Date.now(), marketId: market, question: 'Will it hold?', contractAddress: `0x${'e7'.repeat(20)}`, maker: lower(alice),
    expiration: 2_000_000_000, chainId: 31_337,
  }));
  const dave = new Wallet(id('exchange: dave'));
  const deadline = Math.floor(Date.now() / 1_000) + 600;
  const { chains: [chain] } = await exchange.get('/api/v1/config') as { chains: { signedActions: Record<string, SignedAction> }[] };
  const types = Object.assign({}, ...Object.values(chain!.signedActions).map((each) => each.types)) as SignedAction['types'];
  const post = async (path: string, body: object) => exchange.request('POST', path, { body: JSON.stringify(body) });
  const sign = (type: string, message: object) => dave.signTypedData(domain, { [type]: types[type]! }, message);
  const signed = async (type: string, message: object) => ({ ...message, signature: await sign(type, message) });
  const bodies = await Promise.all([1, 2, 3].map((nonce) => signedBody(exchange.signing, dave, { marketId: market, nonce, price: 1_000 * nonce })));
  // What another process has written, the api role follows.
  await until('the api role has the market', async () => (await post('/api/v1/orders/check', JSON.parse(bodies[0]!) as object)).position >= opened);
  const batch = await post('/api/v1/orders/batch', { orders: bodies.map((body) => JSON.parse(body) as object) });
  const { results } = batch.body as unknown as { results: { status: number; body: { orderHash: string } }[] };
  assert.deepEqual(results.map(({ status }) => status), [200, 200, 200]);
  const [first, second] = results.map(({ body }) => body.orderHash) as [string, string];
  const signature = await sign('ReduceOrder', { orderHash: first, trader: dave.address, size: SHARE, deadline });
  const reduced = await post(`/api/v1/orders/${first}/reduce`, { size: SHARE, deadline, signature });
  assert.deepEqual(reduced.body, { status: 'reduced', orderHash: first, size: SHARE });
  const some = await post('/api/v1/orders/cancel', await signed('CancelOrders', { orderHashes: [second], trader: dave.address, deadline }));
  assert.deepEqual(some.body, { results: [{ status: 200, body: { status: 'cancelled', orderHash: second, filledSize: 0, remainingSize: 10 * SHARE } }] });
  const armed = await post('/api/v1/orders/cancel-after', await signed('CancelAfter', { trader: dave.address, seconds: 600, deadline }));
  assert.equal(armed.body['status'], 'armed');
  const all = await post('/api/v1/orders/cancel-all', await signed('CancelAll', { trader: dave.address, marketId: market, deadline }));
  assert.deepEqual(all.body, { status: 'cancelled', trader: lower(dave), chainId: 31_337, marketId: market, cancelled: 2 });
  const { history, size } = await exchange.get(`/api/v1/orders/${first}`, all.position) as unknown as { history: { type: string; size: number }[]; size: number };
  assert.deepEqual([size, history.map(({ type, size: of }) => [type, of])], [SHARE, [['accepted', 10 * SHARE], ['reduced', SHARE], ['cancelled', SHARE]]]);
  return all.position;
}

/** The ids of all operations that the service documents. */
export async function operationsOf(exchange: ExchangeStack): Promise<string[]> {
  const { paths } = await exchange.get('/openapi.json') as { paths: Record<string, Record<string, { operationId: string }>> };
  return Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
}
