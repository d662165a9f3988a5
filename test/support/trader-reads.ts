/** What traders ask before and after they trade: candles, a ticker, what an order would do, and whether orders are taken. */
import assert from 'node:assert/strict';
import type { ExchangeStack } from './exchange-stack.js';

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
