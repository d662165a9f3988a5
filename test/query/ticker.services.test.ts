/** The ticker of a market: best prices of each outcome, the last price, and the day before this minute. */
import assert from 'node:assert/strict';
import { ticker } from '../../query/ticker.js';
import { bytes32, readModels, type ReadModels } from '../support/read-models.js';

const marketId = bytes32(1);
const MINUTE = 1_700_006_400;
const NOW_MS = (MINUTE + 86_400) * 1_000 + 59_999;
const NONE = { bestBid: 0, bestAsk: 0, mid: 0, spread: 0, lastPrice: 0, change24h: 0, volume24h: 0 };

describe('query: ticker', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(async () => {
    await models.clear();
    await models.insert('markets', { number: 1 });
  });
  after(() => models.close());

  const read = async () => JSON.parse((await ticker(models.db, { marketId, nowMs: NOW_MS })).body) as Record<'marketId' | 'yes' | 'no', unknown>;

  it('has zeros for a market without orders and trades, and unknown_market for none', async () => {
    assert.deepEqual(await read(), { marketId, yes: NONE, no: NONE });
    await assert.rejects(ticker(models.db, { marketId: bytes32(2), nowMs: NOW_MS }), { name: 'RequestError', code: 'unknown_market' });
  });

  it('has the best prices of each outcome, with half of their sum rounded down', async () => {
    await models.insert('levels', { side: 0, price: 400_000 }, { side: 0, price: 400_001 }, { side: 1, price: 500_000 }, { side: 1, price: 500_002 },
      { outcome: 1, side: 0, price: 7 });
    assert.deepEqual(await read(), {
      marketId, yes: { ...NONE, bestBid: 400_001, bestAsk: 500_000, mid: 450_000, spread: 99_999 }, no: { ...NONE, bestBid: 7 },
    });
  });

  it('compares with the price a day ago, and counts the volume since then, to the minute, without failed trades', async () => {
    const trade = (number: number, second: number, price: number, fields: object = {}) => (
      { number, at_ms: (MINUTE + second) * 1_000, price, cost: 10 ** number, ...fields });
    await models.insert('trades', trade(0, -200_000, 100_000), trade(1, -1, 150_000), trade(2, 0, 200_000), trade(3, 50_000, 900_000, { settlement: 3 }),
      trade(4, 50_001, 120_000), trade(5, 60_000, 5, { outcome: 1 }), trade(6, 86_459, 8, { outcome: 1 }));
    await models.advance(5);
    assert.deepEqual(await read(), {
      marketId, yes: { ...NONE, lastPrice: 120_000, change24h: -30_000, volume24h: 10_100 },
      no: { ...NONE, lastPrice: 8, change24h: 3, volume24h: 1_100_000 },
    });
  });
});
