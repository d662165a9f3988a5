/** The prices of an asset as they are read: the newest one, 20 minutes, and what the stream reads. */
import assert from 'node:assert/strict';
import { newestPrice, priceHistory, pricesAfter } from '../../query/prices.js';
import { readModels, type ReadModels } from '../support/read-models.js';

const AT = 1_700_000_000_000;
const INT64_MAX = '9223372036854775807';
const sourceUrls = { pyth: 'https://pyth.example' };

describe('query: prices', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(() => models.clear());
  after(() => models.close());

  const insertThree = () => models.insert('prices',
    { position: 3, price: 6_140_993_501_000, published_at_ms: AT + 1_999 }, { position: 4, price: 7, asset: 'ETH', source: 'coinbase' },
    { position: 5, price: INT64_MAX, source: 'other', published_at_ms: AT });

  it('are the one that was published last, exact in both units, with the address of its source', async () => {
    await insertThree();
    await models.advance(6);
    assert.deepEqual(await newestPrice(models.db, { asset: 'BTC', sourceUrls }), {
      body: `{"price":6140993501000,"priceUSD":61409.93501,"timestamp":${AT / 1_000 + 1},"source":"https://pyth.example"}`, position: 5,
    });
    assert.equal((await newestPrice(models.db, { asset: 'ETH', sourceUrls })).body,
      `{"price":7,"priceUSD":0.00000007,"timestamp":${AT / 1_000},"source":"coinbase"}`);
  });

  it('are unavailable before the first one', async () => {
    await assert.rejects(newestPrice(models.db, { asset: 'BTC', sourceUrls }), { code: 'unavailable', detail: 'no price of BTC has been recorded yet' });
    assert.equal((await priceHistory(models.db, { asset: 'BTC', sourceUrls })).body, '{"asset":"BTC","history":[]}');
  });

  it('are listed oldest first', async () => {
    await insertThree();
    assert.equal((await priceHistory(models.db, { asset: 'BTC', sourceUrls })).body, '{"asset":"BTC","history":['
    + `{"price":${INT64_MAX},"priceUSD":92233720368.54775807,"timestamp":${AT / 1_000},"source":"other"}, `
    + `{"price":6140993501000,"priceUSD":61409.93501,"timestamp":${AT / 1_000 + 1},"source":"https://pyth.example"}]}`);
  });

  it('are listed once per second: of two, the one that was recorded last, because a boundary needed it', async () => {
    await models.insert('prices', { position: 3, price: 1, published_at_ms: AT + 900 }, { position: 4, price: 2, published_at_ms: AT + 1_000 },
      { position: 5, price: 3, source: 'coinbase', published_at_ms: AT + 100 }, { position: 6, price: 4, published_at_ms: AT + 1_000 });
    await models.advance(7);
    const { history } = JSON.parse((await priceHistory(models.db, { asset: 'BTC', sourceUrls })).body) as { history: { price: number; timestamp: number }[] };
    assert.deepEqual(history.map(({ price, timestamp }) => [price, timestamp - AT / 1_000]), [[3, 0], [4, 1]]);
    const newest = JSON.parse((await newestPrice(models.db, { asset: 'BTC', sourceUrls })).body) as { price: number };
    assert.equal(newest.price, 4);
  });

  it('are read for the stream in the order of the log, after a position, with the position up to which these are all', async () => {
    await insertThree();
    await models.advance(9);
    assert.deepEqual(await pricesAfter(models.db, 3), {
      position: 8,
      prices: [
        { position: 4, asset: 'ETH', publishedAtMs: AT, data: `{"asset":"ETH","price":7,"priceUSD":0.00000007,"timestamp":${AT},"source":"coinbase"}` },
        { position: 5, asset: 'BTC', publishedAtMs: AT,
          data: `{"asset":"BTC","price":${INT64_MAX},"priceUSD":92233720368.54775807,"timestamp":${AT},"source":"other"}` },
      ],
    });
    assert.deepEqual((await pricesAfter(models.db, -1)).prices.map(({ position }) => position), [3, 4, 5]);
    assert.deepEqual(await pricesAfter(models.db, 5), { position: 8, prices: [] });
  });
});
