/** One order with its history, and the facts about it that the command side asks for. */
import assert from 'node:assert/strict';
import { findOrder, orderWithHistory } from '../../query/orders/order.js';
import type { RowSource, Statement } from '../../query/statement.js';
import { UINT64_MAX, address, bytes32, readModels, type ReadModels } from '../support/read-models.js';

describe('query: one order', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(() => models.clear());
  after(() => models.close());

  it('gives an open order with all its fields', async () => {
    await models.insert('orders', { number: 7, size: UINT64_MAX, remaining: UINT64_MAX, nonce: UINT64_MAX, expiration: UINT64_MAX });
    await models.advance(8);
    assert.deepEqual(await orderWithHistory(models.db, { orderHash: bytes32(7) }), {
      body: `{"orderHash":"${bytes32(7)}","marketId":"${bytes32(1)}","trader":"${address(1)}","side":0,"outcome":0,"price":500000,`
        + `"size":${UINT64_MAX},"filledSize":0,"remainingSize":${UINT64_MAX},"nonce":${UINT64_MAX},"expiration":${UINT64_MAX},`
        + '"status":"open","cancelReason":null,"timestamp":1700000007,'
        + `"history":[{"position":7,"type":"accepted","size":${UINT64_MAX},"timestamp":1700000007}]}`,
      position: 7,
    });
  });

  it('is found in whichever bucket of the index it is, also among hashes that begin alike, and by indexes alone', async () => {
    const numbers = [7, 8, 2 ** 20 - 1, 2 ** 20, 3 * 2 ** 20 + 5];
    await models.insert('orders', ...numbers.map((number) => ({ number })));
    const statements: Statement[] = [];
    const db: RowSource = {
      rows: (statement, values) => {
        statements.push(statement);
        return models.db.rows(statement, values);
      },
    };
    for (const number of numbers) assert.equal((await findOrder(db, bytes32(number)))?.orderNumber, number);
    assert.equal(await findOrder(db, bytes32(9)), undefined);
    await orderWithHistory(db, { orderHash: bytes32(7) });
    await models.run('set enable_seqscan = off');
    for (const { text } of new Map(statements.map((statement) => [statement.name, statement])).values()) {
      const custom = await models.run(`explain ${text}`, [Buffer.alloc(32)]);
      const generic = await models.run(`explain (generic_plan) ${text}`);
      for (const { rows } of [custom, generic]) {
        const plan = (rows as { 'QUERY PLAN': string }[]).map((row) => row['QUERY PLAN']).join('\n');
        assert.match(plan, /Index Scan using orders_by_hash on orders/);
        assert.doesNotMatch(plan, /Seq Scan on (orders|trades)/);
      }
    }
    await models.run('reset enable_seqscan');
  });

  it('tells the history in the order of the log: as taker, as maker, a fill that failed, the end', async () => {
    await models.insert('orders', {
      number: 7, remaining: 60, status: 2, close_reason: 'user', closed_position: 30, closed_at_ms: 1_700_000_030_500,
    });
    await models.insert('trades',
      { number: 0, position: 7, taker_number: 7, maker_number: 3, size: 10, settlement: 2, tx_hash: bytes32(80),
        settled_position: 19, settled_at_ms: 1_700_000_019_500 },
      { number: 1, position: 7, taker_number: 7, maker_number: 4, size: 20, settlement: 3, tx_hash: bytes32(81),
        settled_position: 20, settled_at_ms: 1_700_000_020_500, failure_reason: 'seller_not_approved' },
      { number: 2, position: 20, taker_number: 7, maker_number: 5, size: 20 },
      { number: 3, position: 21, taker_number: 22, maker_number: 7, size: 10, settlement: 1, tx_hash: bytes32(82) },
      { number: 4, position: 25, taker_number: 23, maker_number: 24 });
    const { body } = await orderWithHistory(models.db, { orderHash: bytes32(7) });
    const order = JSON.parse(body) as { history: unknown[] };
    assert.deepEqual({ ...order, history: [] }, {
      orderHash: bytes32(7), marketId: bytes32(1), trader: address(1), side: 0, outcome: 0, price: 500_000, size: 100,
      filledSize: 40, remainingSize: 60, nonce: 7, expiration: 1_900_000_000, status: 'cancelled', cancelReason: 'user', timestamp: 1_700_000_007,
      history: [],
    });
    const fill = { type: 'fill', price: 500_000 };
    const seconds = 1_700_000_000;
    assert.deepEqual(order.history, [
      { position: 7, type: 'accepted', size: 100, timestamp: 1_700_000_007 },
      { ...fill, position: 7, fill: 0, role: 'taker', size: 10, settlementStatus: 'confirmed', txHash: bytes32(80), timestamp: seconds },
      { ...fill, position: 7, fill: 1, role: 'taker', size: 20, settlementStatus: 'failed', txHash: bytes32(81), timestamp: seconds + 1 },
      { position: 20, type: 'fill_failed', fill: 1, size: 20, reason: 'seller_not_approved', txHash: bytes32(81), timestamp: seconds + 20 },
      { ...fill, position: 20, fill: 2, role: 'taker', size: 20, settlementStatus: 'matched', txHash: '', timestamp: seconds + 2 },
      { ...fill, position: 21, fill: 3, role: 'maker', size: 10, settlementStatus: 'pending', txHash: bytes32(82), timestamp: seconds + 3 },
      { position: 30, type: 'cancelled', size: 60, reason: 'user', timestamp: 1_700_000_030 },
    ]);
  });

  it('tells what an order was reduced to, and begins with the size that was signed', async () => {
    await models.insert('orders', { number: 7, size: 50, remaining: 40 });
    await models.insert('reductions', { order_number: 7, position: 9, size: 80, reduced: 20, at_ms: 1_700_000_009_000 },
      { order_number: 7, position: 11, size: 50, reduced: 30, at_ms: 1_700_000_011_000 });
    const order = JSON.parse((await orderWithHistory(models.db, { orderHash: bytes32(7) })).body) as Record<string, unknown>;
    assert.deepEqual([order['size'], order['filledSize'], order['remainingSize']], [50, 10, 40]);
    assert.deepEqual(order['history'], [
      { position: 7, type: 'accepted', size: 100, timestamp: 1_700_000_007 },
      { position: 9, type: 'reduced', size: 80, timestamp: 1_700_000_009 },
      { position: 11, type: 'reduced', size: 50, timestamp: 1_700_000_011 },
    ]);
  });

  it('of before the horizon says from where on its history is whole', async () => {
    await models.insert('orders', { number: 6 }, { number: 7 });
    await models.run('insert into history_horizon values (7, 0, 0)');
    const from = async (number: number) => (
      JSON.parse((await orderWithHistory(models.db, { orderHash: bytes32(number) })).body) as { historyFrom?: number }).historyFrom;
    assert.deepEqual([await from(6), await from(7)], [7, undefined]);
    await models.run('delete from history_horizon');
  });

  it('ends a filled order\'s history with `filled`, after the fill that did it', async () => {
    await models.insert('orders', { number: 1, remaining: 0, status: 1, closed_position: 5, closed_at_ms: 1_700_000_005_000 });
    await models.insert('trades', { number: 0, position: 5, maker_number: 1, taker_number: 5 });
    const order = JSON.parse((await orderWithHistory(models.db, { orderHash: bytes32(1) })).body) as Record<string, unknown>;
    assert.deepEqual([order['status'], order['cancelReason']], ['filled', null]);
    assert.deepEqual((order['history'] as { type: string; position: number }[]).map(({ type, position }) => [position, type]),
      [[1, 'accepted'], [5, 'fill'], [5, 'filled']]);
  });

  it('shows the latest 1,000 fills of an order that has more', async () => {
    await models.insert('orders', { number: 1 });
    await models.run(`
      insert into trades (number, market_id, outcome, price, size, cost, taker_side, maker_number, taker_number, buyer, seller, position, at_ms, settlement)
      select n, market_id, 0, 1, 1, 1, 0, case when n % 2 = 0 then 1 else n + 10 end,
        case when n % 2 = 0 then n + 10 else 1 end, trader, trader, n, 0, 0 from orders, generate_series(2, 1101) n`);
    const { body } = await orderWithHistory(models.db, { orderHash: bytes32(1) });
    const { history } = JSON.parse(body) as { history: { fill?: number }[] };
    assert.deepEqual([history.length, history[1]?.fill, history[1_000]?.fill], [1_001, 102, 1_101]);
  });

  it('answers an unknown hash with unknown_order, and findOrder with nothing', async () => {
    await assert.rejects(orderWithHistory(models.db, { orderHash: bytes32(9) }), { name: 'RequestError', code: 'unknown_order' });
    assert.equal(await findOrder(models.db, bytes32(9)), undefined);
  });

  it('gives the command side the facts of an open and of a closed order', async () => {
    await models.insert('orders', { number: 7, side: 1, size: UINT64_MAX, remaining: '18446744073709551614' },
      { number: 8, remaining: 30, status: 2, close_reason: 'expired', closed_position: 12 });
    const whose = { marketId: bytes32(1), trader: address(1) };
    assert.deepEqual(await findOrder(models.db, bytes32(7)), {
      ...whose, orderNumber: 7, orderHash: bytes32(7), side: 1, size: 2n ** 64n - 1n, remaining: 2n ** 64n - 2n, status: 'open',
      closeReason: null, closedPosition: null,
    });
    assert.deepEqual(await findOrder(models.db, bytes32(8)), {
      ...whose, orderNumber: 8, orderHash: bytes32(8), side: 0, size: 100n, remaining: 30n, status: 'cancelled', closeReason: 'expired',
      closedPosition: 12,
    });
  });
});
