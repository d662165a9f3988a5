/** Open orders by trader and by user on a chain: exact shapes, order, pages. */
import assert from 'node:assert/strict';
import { ORDERS_LIMIT, ordersOfTrader, ordersOfUser } from '../../query/orders/orders.js';
import { UINT64_MAX, address, bytes32, readModels, type ReadModels } from '../support/read-models.js';

const trader = address(1);

describe('query: open orders', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(() => models.clear());
  after(() => models.close());

  it('lists a trader\'s open orders, newest first, sizes exact', async () => {
    await models.insert('orders',
      { number: 3 }, { number: 9, side: 1, price: 1, size: UINT64_MAX, remaining: '9007199254740993', market_id: bytes32(2) },
      { number: 4, status: 1 }, { number: 5, status: 2 }, { number: 6, trader: address(2) });
    await models.advance(10);
    assert.deepEqual(await ordersOfTrader(models.db, { trader }), {
      body: `{"orders":[{"orderHash":"${bytes32(9)}","marketId":"${bytes32(2)}","side":1,"price":1,"size":${UINT64_MAX},`
        + `"remainingSize":9007199254740993,"timestamp":1700000009},{"orderHash":"${bytes32(3)}","marketId":"${bytes32(1)}","side":0,`
        + '"price":500000,"size":100,"remainingSize":100,"timestamp":1700000003}],"count":2}',
      position: 9,
    });
    const inMarket = await ordersOfTrader(models.db, { trader, marketId: bytes32(1) });
    assert.deepEqual([hashes(inMarket.body), countIn(inMarket.body)], [[bytes32(3)], 1]);
  });

  it('lists a user\'s open orders on a chain with the markets\' questions', async () => {
    await models.insert('markets', { number: 1 }, { number: 2, chain_id: 137 });
    await models.insert('orders', { number: 3, outcome: 1 }, { number: 4, market_id: bytes32(2) });
    await models.advance(6);
    assert.deepEqual(await ordersOfUser(models.db, { user: trader, chainId: 31_337 }), {
      body: `{"orders":[{"orderHash":"${bytes32(3)}","marketId":"${bytes32(1)}","marketQuestion":"Question 1?","side":0,"outcome":1,`
        + '"price":500000,"size":100,"remainingSize":100,"timestamp":1700000003}],"count":1}',
      position: 5,
    });
    assert.deepEqual(hashes((await ordersOfUser(models.db, { user: trader, chainId: 137 })).body), [bytes32(4)]);
  });

  it('is empty for a trader without orders and for a chain without markets', async () => {
    assert.deepEqual(await ordersOfTrader(models.db, { trader }), { body: '{"orders":[],"count":0}', position: -1 });
    assert.deepEqual(await ordersOfUser(models.db, { user: trader, chainId: 1 }), { body: '{"orders":[],"count":0}', position: -1 });
  });

  it('pages: a full page names the next one, and the pages together are everything once', async () => {
    await models.insert('orders', ...[1, 2, 3, 4, 5].map((number) => ({ number })));
    const seen: string[][] = [];
    let before: number | undefined;
    do {
      const { body } = await ordersOfTrader(models.db, { trader, limit: 2, before });
      seen.push(hashes(body));
      assert.equal(countIn(body), 5, 'all of them, on every page');
      before = (JSON.parse(body) as { next?: number }).next;
    } while (before !== undefined);
    assert.deepEqual(seen, [[bytes32(5), bytes32(4)], [bytes32(3), bytes32(2)], [bytes32(1)]]);
  });

  it('counts what matches, on a page that has not all of it', async () => {
    await models.insert('markets', { number: 1 }, { number: 2, chain_id: 137 });
    await models.insert('orders', ...[1, 2, 3, 4, 5].map((number) => ({ number, market_id: bytes32(number % 2 + 1), status: number === 5 ? 1 : 0 })));
    const count = async (page: object) => countIn((await ordersOfTrader(models.db, { trader, ...page })).body);
    assert.deepEqual([await count({ limit: 1 }), await count({ limit: 4 }), await count({ before: 2 }), await count({ before: 0 })], [4, 4, 4, 4]);
    assert.deepEqual([await count({ limit: 1, marketId: bytes32(1) }), await count({ before: 1, marketId: bytes32(2) })], [2, 2]);
    assert.equal(countIn((await ordersOfUser(models.db, { user: trader, chainId: 137, limit: 1 })).body), 2);
    assert.equal(countIn((await ordersOfUser(models.db, { user: trader, chainId: 137, before: 1 })).body), 2);
  });

  it('has at most 1,000 orders an answer', async () => {
    await models.run(`
      insert into orders (number, order_hash, market_id, trader, side, outcome, price, size, remaining, nonce, expiration, status, placed_at_ms)
      select n, decode(lpad(to_hex(n), 64, '0'), 'hex'), $1, $2, 0, 0, 1, 1, 1, n, 1, 0, 0 from generate_series(1, 1001) n`,
    [Buffer.from(bytes32(1).slice(2), 'hex'), Buffer.from(trader.slice(2), 'hex')]);
    await models.derive();
    const { orders, count, next } = JSON.parse((await ordersOfTrader(models.db, { trader })).body) as Listing;
    assert.deepEqual([orders.length, count, next], [ORDERS_LIMIT.max, 1_001, 2]);
  });
});

interface Listing { orders: { orderHash: string }[]; count: number; next?: number }

function countIn(body: string): number {
  return (JSON.parse(body) as Listing).count;
}

function hashes(body: string): string[] {
  return (JSON.parse(body) as Listing).orders.map((order) => order.orderHash);
}
