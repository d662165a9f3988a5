/** Trades of a market and of a user: exact shapes, limits of 50 and 100, failed ones left out. */
import assert from 'node:assert/strict';
import { cursorAfter } from '../../query/paging.js';
import { activityOfMarket, tradesOfMarket, userActivity } from '../../query/trades.js';
import { UINT64_MAX, address, bytes32, readModels, type ReadModels } from '../support/read-models.js';

const marketId = bytes32(1);
const people = { buyer: address(1), seller: address(2) };

describe('query: trades', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(async () => {
    await models.clear();
    await models.insert('markets', { number: 1 }, { number: 2, chain_id: 137 });
  });
  after(() => models.close());

  const threeTrades = () => models.insert('trades',
    { number: 0, outcome: 1, size: UINT64_MAX, settlement: 2, tx_hash: bytes32(80) },
    { number: 1, settlement: 3, tx_hash: bytes32(81) },
    { number: 2, settlement: 1, tx_hash: bytes32(82) }, { number: 3 }, { number: 4, market_id: bytes32(2) });

  it('lists a market\'s trades newest first, failed ones left out, txHash empty until sent', async () => {
    await threeTrades();
    await models.advance(6);
    const { body, position } = await tradesOfMarket(models.db, { marketId });
    assert.equal(position, 5);
    const price = 500_000;
    assert.deepEqual(JSON.parse(body.replace(`:${UINT64_MAX}`, `:"${UINT64_MAX}"`)), {
      marketId,
      trades: [
        { price, size: 100, outcome: 0, ...people, timestamp: 1_700_000_003, txHash: '', settlementStatus: 'matched' },
        { price, size: 100, outcome: 0, ...people, timestamp: 1_700_000_002, txHash: bytes32(82), settlementStatus: 'pending' },
        { price, size: UINT64_MAX, outcome: 1, ...people, timestamp: 1_700_000_000, txHash: bytes32(80), settlementStatus: 'confirmed' },
      ],
      count: 3,
    });
  });

  it('lists a market\'s activity without outcomes', async () => {
    await threeTrades();
    const { body } = await activityOfMarket(models.db, { marketId: bytes32(2) });
    assert.deepEqual(JSON.parse(body), {
      marketId: bytes32(2),
      activity: [{ price: 500_000, size: 100, ...people, timestamp: 1_700_000_004, txHash: '', settlementStatus: 'matched' }],
    });
  });

  it('gives a user\'s trades on a chain with the role, buyer or seller', async () => {
    await threeTrades();
    await models.insert('trades', { number: 5, buyer: address(2), seller: address(1) }, { number: 6, buyer: address(3) });
    const { body } = await userActivity(models.db, { user: address(1), chainId: 31_337 });
    const head = { marketId, marketQuestion: 'Question 1?', price: 500_000, size: 100 };
    assert.deepEqual(JSON.parse(body.replace(`:${UINT64_MAX}`, `:"${UINT64_MAX}"`)), {
      activity: [
        { ...head, userRole: 'seller', timestamp: 1_700_000_005, txHash: '', settlementStatus: 'matched' },
        { ...head, userRole: 'buyer', timestamp: 1_700_000_003, txHash: '', settlementStatus: 'matched' },
        { ...head, userRole: 'buyer', timestamp: 1_700_000_002, txHash: bytes32(82), settlementStatus: 'pending' },
        { ...head, size: UINT64_MAX, userRole: 'buyer', timestamp: 1_700_000_000, txHash: bytes32(80), settlementStatus: 'confirmed' },
      ],
      settlements: [],
    });
  });

  it('gives what a user was paid on a chain, newest first, with the winner', async () => {
    await models.insert('markets', { number: 3, resolved: true, winning_outcome: 1 });
    await models.insert('redemptions', { position: 5 }, { position: 9, market_id: bytes32(3), payout: String(2n ** 64n) },
      { position: 7, market_id: bytes32(2) }, { position: 8, user_address: address(2) });
    await models.advance(9);
    const older = `{"marketId":"${marketId}","marketQuestion":"Question 1?","payout":100,"winningOutcome":null,"timestamp":1700000005,"txHash":"${bytes32(90)}"}`;
    const newer = `{"marketId":"${bytes32(3)}","marketQuestion":"Question 3?","payout":18446744073709551616,"winningOutcome":1,`
      + `"timestamp":1700000009,"txHash":"${bytes32(90)}"}`;
    const user = { user: address(1), chainId: 31_337 };
    assert.deepEqual(await userActivity(models.db, user), { body: `{"activity":[],"settlements":[${newer}, ${older}]}`, position: 8 });
    assert.equal((await userActivity(models.db, { ...user, limit: 1 })).body,
      `{"activity":[],"settlements":[${newer}],"nextCursor":"${cursorAfter('user_activity', [0, 9])}"}`);
  });

  it('ends at 50 entries of activity, 100 trades, and a user\'s limit', async () => {
    await models.run(`
      insert into trades (number, market_id, outcome, price, size, cost, taker_side, maker_number, taker_number, buyer, seller, position, at_ms, settlement)
      select n, market_id, 0, n, 1, 1, 0, n, n, $1, $2, n, n, 0 from markets, generate_series(1, 101) n where number = 1`,
    [Buffer.from(people.buyer.slice(2), 'hex'), Buffer.from(people.seller.slice(2), 'hex')]);
    const user = { user: people.seller, chainId: 31_337 };
    assert.deepEqual(prices((await activityOfMarket(models.db, { marketId })).body), [50, 101, 52]);
    assert.deepEqual(prices((await tradesOfMarket(models.db, { marketId })).body), [100, 101, 2]);
    assert.deepEqual(prices((await userActivity(models.db, user)).body), [50, 101, 52]);
    assert.deepEqual(prices((await userActivity(models.db, { ...user, limit: 100 })).body), [100, 101, 2]);
    assert.deepEqual(prices((await userActivity(models.db, { ...user, limit: 1 })).body), [1, 101, 101]);
  });

  it('is empty for a market or user without trades, and unknown_market for no market', async () => {
    assert.deepEqual(await tradesOfMarket(models.db, { marketId }), {
      body: `{"marketId":"${marketId}","trades":[],"count":0}`, position: -1,
    });
    assert.deepEqual(await activityOfMarket(models.db, { marketId }), { body: `{"marketId":"${marketId}","activity":[]}`, position: -1 });
    assert.deepEqual(await userActivity(models.db, { user: address(9), chainId: 1 }), {
      body: '{"activity":[],"settlements":[]}', position: -1,
    });
    for (const read of [tradesOfMarket, activityOfMarket]) {
      await assert.rejects(read(models.db, { marketId: bytes32(9) }), { name: 'RequestError', code: 'unknown_market' });
    }
  });
});

/** How many entries, and the first and last one's price. */
function prices(body: string): unknown[] {
  const { trades, activity } = JSON.parse(body) as Partial<Record<'trades' | 'activity', { price: number }[]>>;
  const entries = trades ?? activity;
  return [entries?.length, entries?.[0]?.price, entries?.at(-1)?.price];
}
