/** Positions by market and by user, and holders: exact shapes, what counts as none, the top ten. */
import assert from 'node:assert/strict';
import { heldPosition, holders, position, positionsOfUser } from '../../query/positions.js';
import { UINT64_MAX, address, bytes32, readModels, type ReadModels } from '../support/read-models.js';

const marketId = bytes32(1);
const user = address(1);

describe('query: positions', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(async () => {
    await models.clear();
    await models.insert('markets', { number: 1 }, { number: 2, chain_id: 137 }, { number: 3, resolved: true, winning_outcome: 1 });
  });
  after(() => models.close());

  it('gives a user\'s position by the market\'s id and by its contract alike', async () => {
    await models.insert('positions', { yes_shares: UINT64_MAX, no_shares: -7, yes_cost: '9007199254740993', no_cost: 1 });
    await models.advance(3);
    const answer = {
      body: `{"yesShares":${UINT64_MAX},"noShares":-7,"totalInvested":9007199254740994,"yesCost":9007199254740993,"noCost":1}`,
      position: 2,
    };
    assert.deepEqual(await position(models.db, { market: { marketId }, user }), answer);
    assert.deepEqual(await position(models.db, { market: { contractAddress: address(1_001) }, user }), answer);
  });

  it('takes an address that markets of two chains share for the older one\'s', async () => {
    await models.insert('markets', { number: 4, chain_id: 10, contract_address: address(1_001) });
    await models.insert('positions', { yes_shares: 5, yes_cost: 2, no_cost: 0 });
    const { body } = await position(models.db, { market: { contractAddress: address(1_001) }, user });
    assert.deepEqual(JSON.parse(body), { yesShares: 5, noShares: 0, totalInvested: 2, yesCost: 2, noCost: 0 });
  });

  it('has two zeros and nothing else where there is no position, also after selling everything', async () => {
    await models.insert('positions', { user_address: address(2) });
    for (const who of [user, address(2)]) {
      assert.deepEqual(await position(models.db, { market: { marketId }, user: who }), { body: '{"yesShares":0,"noShares":0}', position: -1 });
    }
  });

  it('answers unknown_market for no such id or contract', async () => {
    for (const market of [{ marketId: bytes32(9) }, { contractAddress: address(9) }]) {
      await assert.rejects(position(models.db, { market, user }), { name: 'RequestError', code: 'unknown_market' });
    }
    await assert.rejects(holders(models.db, { marketId: bytes32(9) }), { name: 'RequestError', code: 'unknown_market' });
  });

  it('gives the command side a position as exact integers, zeros where there is none', async () => {
    await models.insert('positions', { yes_shares: UINT64_MAX, no_shares: -7, yes_cost: '9007199254740993', no_cost: 1 });
    await models.advance(3);
    assert.deepEqual(await heldPosition(models.db, { marketId, user }), {
      yesShares: 2n ** 64n - 1n, noShares: -7n, totalInvested: 9_007_199_254_740_994n, position: 2,
    });
    assert.deepEqual(await heldPosition(models.db, { marketId: bytes32(2), user }), { yesShares: 0n, noShares: 0n, totalInvested: 0n, position: 2 });
  });

  it('lists a user\'s positions on a chain, newest market first', async () => {
    await models.insert('positions', { yes_shares: 5, yes_cost: 2, no_cost: 0 }, { market_id: bytes32(2), yes_shares: 1 },
      { market_id: bytes32(3), no_shares: UINT64_MAX, no_cost: UINT64_MAX, yes_cost: 1 },
      { user_address: address(2), yes_shares: 9 });
    await models.insert('markets', { number: 4 });
    await models.insert('positions', { market_id: bytes32(4) });
    assert.deepEqual(await positionsOfUser(models.db, { user, chainId: 31_337 }), {
      body: `{"positions":[{"marketId":"${bytes32(3)}","marketQuestion":"Question 3?","contractAddress":"${address(1_003)}",`
        + `"expiration":2000000000,"resolved":true,"yesShares":0,"noShares":${UINT64_MAX},"totalInvested":18446744073709551616}, `
        + `{"marketId":"${marketId}","marketQuestion":"Question 1?","contractAddress":"${address(1_001)}",`
        + '"expiration":2000000000,"resolved":false,"yesShares":5,"noShares":0,"totalInvested":2}]}',
      position: -1,
    });
    assert.equal((await positionsOfUser(models.db, { user, chainId: 1 })).body, '{"positions":[]}');
  });

  it('names the ten largest holders of both outcomes together and counts all', async () => {
    const sizes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    await models.insert('positions', ...sizes.map((size) => ({
      user_address: address(size), yes_shares: size % 2 ? size : -50, no_shares: size % 2 ? 0 : size,
    })));
    await models.insert('positions', { user_address: address(20), yes_shares: 6, no_shares: 6 },
      { user_address: address(21), yes_shares: -9 },
      { user_address: address(22) }, { user_address: address(23), market_id: bytes32(2), yes_shares: 99 });
    const answer = JSON.parse((await holders(models.db, { marketId })).body) as Record<string, unknown>;
    const holder = (n: number, yesShares: number, noShares: number) => ({ userAddress: address(n), yesShares, noShares });
    assert.deepEqual(answer, {
      marketId,
      topHolders: [holder(20, 6, 6), holder(12, 0, 12), holder(11, 11, 0), holder(10, 0, 10), holder(9, 9, 0), holder(8, 0, 8),
        holder(7, 7, 0), holder(6, 0, 6), holder(5, 5, 0), holder(4, 0, 4)],
      totalHolders: 13,
    });
  });

  it('has no holders in a market without positions', async () => {
    assert.deepEqual(await holders(models.db, { marketId }), {
      body: `{"marketId":"${marketId}","topHolders":[],"totalHolders":0}`, position: -1,
    });
  });
});
