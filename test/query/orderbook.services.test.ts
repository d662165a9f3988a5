/** The orderbook's answer, whole and as text: levels, order, sums, sizes beyond 2^53, and markets without a book. */
import assert from 'node:assert/strict';
import { orderbook } from '../../query/orders/orderbook.js';
import { UINT64_MAX, bytes32, readModels, type ReadModels } from '../support/read-models.js';

const marketId = bytes32(1);

describe('query: orderbook', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(() => models.clear());
  after(() => models.close());

  it('gives the levels of one outcome, best first, exact, at the position of the orders projection', async () => {
    await models.insert('levels',
      { side: 0, price: 400_000, size: 5 }, { side: 0, price: 450_000, size: UINT64_MAX },
      { side: 1, price: 600_000, size: 7 }, { side: 1, price: 550_000, size: '73786976294838206460' },
      { outcome: 1, side: 0, price: 1, size: 9 }, { market_id: bytes32(2), price: 2, size: 9 });
    await models.insert('books', {});
    await models.advance(42);
    assert.deepEqual(await orderbook(models.db, { marketId, outcome: 0 }), {
      body: `{"marketId":"${marketId}","bids":[{"price":450000,"size":${UINT64_MAX}}, {"price":400000,"size":5}],`
        + `"asks":[{"price":550000,"size":73786976294838206460}, {"price":600000,"size":7}],"lastUpdate":1700000000}`,
      position: 41,
    });
    const no = await orderbook(models.db, { marketId, outcome: 1 });
    assert.deepEqual(JSON.parse(no.body), { marketId, bids: [{ price: 1, size: 9 }], asks: [], lastUpdate: 1_700_000_000 });
  });

  it('sums both outcomes by price and keeps each book apart where no outcome is asked for', async () => {
    await models.insert('levels',
      { outcome: 0, side: 0, price: 400_000, size: UINT64_MAX }, { outcome: 1, side: 0, price: 400_000, size: UINT64_MAX },
      { outcome: 1, side: 0, price: 450_000, size: 1 }, { outcome: 0, side: 1, price: 600_000, size: 2 },
      { outcome: 1, side: 1, price: 500_000, size: 3 });
    const { body } = await orderbook(models.db, { marketId });
    assert.match(body, /"bids":\[\{"price":450000,"size":1\}, \{"price":400000,"size":36893488147419103230\}\]/);
    assert.deepEqual(JSON.parse(body.replaceAll(/\d{17,}/g, '"$&"')), {
      marketId,
      bids: [{ price: 450_000, size: 1 }, { price: 400_000, size: '36893488147419103230' }],
      asks: [{ price: 500_000, size: 3 }, { price: 600_000, size: 2 }],
      lastUpdate: 0,
      yes: { bids: [{ price: 400_000, size: UINT64_MAX }], asks: [{ price: 600_000, size: 2 }] },
      no: {
        bids: [{ price: 450_000, size: 1 }, { price: 400_000, size: UINT64_MAX }],
        asks: [{ price: 500_000, size: 3 }],
      },
    });
  });

  it('is empty for a market without a book, known or not', async () => {
    assert.deepEqual(await orderbook(models.db, { marketId: bytes32(404), outcome: 0 }), {
      body: `{"marketId":"${bytes32(404)}","bids":[],"asks":[],"lastUpdate":0}`, position: -1,
    });
    assert.deepEqual(JSON.parse((await orderbook(models.db, { marketId: bytes32(404) })).body), {
      marketId: bytes32(404), bids: [], asks: [], lastUpdate: 0, yes: { bids: [], asks: [] }, no: { bids: [], asks: [] },
    });
  });
});
