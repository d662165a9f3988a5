/** Markets, statistics with a window that slides, and the platform's totals. */
import assert from 'node:assert/strict';
import { market, marketIdOf, marketStats, markets, platformStats } from '../../query/markets.js';
import { UINT64_MAX, address, bytes32, readModels, type ReadModels } from '../support/read-models.js';

const marketId = bytes32(1);
/** The highest token id. */
const UINT256_MAX = String(2n ** 256n - 1n);
const DAY_MS = 86_400_000;

describe('query: markets', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(() => models.clear());
  after(() => models.close());

  it('lists every unresolved standard market, newest first, with the best YES ask', async () => {
    await models.insert('markets',
      { number: 1 }, { number: 2, resolved: true, winning_outcome: 0 }, { number: 3, kind: 'quick' },
      { number: 4, chain_id: 137, closed: true, question: 'Quoted "so"?\n', category: 'defi', yes_token: UINT256_MAX, no_token: '0' });
    await models.insert('levels',
      { side: 1, price: 700_000 }, { side: 1, price: 650_000 }, { side: 1, outcome: 1, price: 1 }, { side: 0, price: 2 });
    await models.advance(7);
    const { body, position } = await markets(models.db, {});
    assert.equal(position, 6);
    const first = {
      id: marketId, question: 'Question 1?', description: 'Description 1', category: 'general', contractAddress: address(1_001),
      maker: address(99), expiration: 2_000_000_000, chainId: 31_337, resolved: false, bestAskPrice: 650_000,
      createdAt: 1_700_000_000, conditionId: null, yesTokenId: null, noTokenId: null,
    };
    const second = {
      id: bytes32(4), question: 'Quoted "so"?\n', description: 'Description 4', category: 'defi', contractAddress: address(1_004),
      maker: address(99), expiration: 2_000_000_000, chainId: 137, resolved: false, bestAskPrice: 0, createdAt: 1_700_000_000,
      conditionId: bytes32(4), yesTokenId: UINT256_MAX, noTokenId: '0',
    };
    assert.deepEqual(JSON.parse(body), { markets: [second, first], count: 2 });
    assert.deepEqual(JSON.parse((await markets(models.db, { chainId: 31_337 })).body), { markets: [first], count: 1 });
    assert.equal((await markets(models.db, { chainId: 1 })).body, '{"markets":[],"count":0}');
  });

  it('gives one market, of any kind and in any state', async () => {
    await models.insert('markets', { number: 1, kind: 'quick', resolved: true, winning_outcome: 0 });
    await models.insert('levels', { side: 1, price: 650_000 });
    await models.insert('market_volumes', { volume: '36893488147419103230', trades: 2 });
    await models.advance(7);
    const { body, position } = await market(models.db, { marketId });
    assert.equal(position, 6);
    assert.match(body, /"bestAskPrice":650000,.*"state":"resolved","totalVolume":36893488147419103230}$/);
    const { id, question, resolved } = JSON.parse(body) as Record<string, unknown>;
    assert.deepEqual({ id, question, resolved }, { id: marketId, question: 'Question 1?', resolved: true });
    await assert.rejects(market(models.db, { marketId: bytes32(9) }), { name: 'RequestError', code: 'unknown_market' });
  });

  it('names a market by its id or by its contract, the older one where two chains share it', async () => {
    await models.insert('markets', { number: 1 }, { number: 2, chain_id: 10, contract_address: address(1_001) });
    assert.equal(await marketIdOf(models.db, { contractAddress: address(1_001) }), marketId);
    assert.equal(await marketIdOf(models.db, { marketId: bytes32(9) }), bytes32(9));
    await assert.rejects(marketIdOf(models.db, { contractAddress: address(9) }), { name: 'RequestError', code: 'unknown_market' });
  });

  it('gives a market\'s statistics', async () => {
    await models.insert('markets', { number: 1 });
    await models.insert('market_volumes', { volume: '36893488147419103230', trades: 2 });
    await models.insert('trades',
      { number: 0, price: 300_000, cost: UINT64_MAX }, { number: 1, outcome: 1, price: 400_000, cost: UINT64_MAX },
      { number: 2, price: 999_999, settlement: 3 }, { number: 3, price: 1, market_id: bytes32(2) });
    await models.insert('minute_volumes', { minute: Math.floor(1_700_000_000 / 60), volume: '36893488147419103230' });
    await models.advance(12);
    assert.deepEqual(await marketStats(models.db, { marketId, nowMs: 1_700_000_010_000 }), {
      body: `{"marketId":"${marketId}","contractAddress":"${address(1_001)}","volume24h":36893488147419103230,`
        + '"totalVolume":36893488147419103230,"lastPrice":400000}',
      position: 11,
    });
  });

  it('has zeros for a market without trades and unknown_market for none', async () => {
    await models.insert('markets', { number: 1 });
    assert.deepEqual(JSON.parse((await marketStats(models.db, { marketId, nowMs: 1_700_000_000_000 })).body), {
      marketId, contractAddress: address(1_001), volume24h: 0, totalVolume: 0, lastPrice: 0,
    });
    await assert.rejects(marketStats(models.db, { marketId: bytes32(2), nowMs: 0 }), { name: 'RequestError', code: 'unknown_market' });
  });

  it('lets a trade leave the 24 hours in the very millisecond, in every minute and at every edge of one', async () => {
    await models.insert('markets', { number: 1 });
    const minuteMs = 1_700_000_040_000;
    const times = [0, 1, 999, 59_999, 60_000, 60_001, 60_001, 119_999, 120_000, 300_000].map((ms) => minuteMs + ms);
    const trades = times.map((at_ms, number) => ({ number, at_ms, cost: 10 ** number, settlement: number === 5 ? 3 : 0 }));
    await models.insert('trades', ...trades, { number: 10, at_ms: minuteMs + 300_000, market_id: bytes32(2), cost: 10 ** 10 });
    const counted = trades.filter(({ settlement }) => settlement !== 3);
    for (const minute of new Set(counted.map(({ at_ms }) => Math.floor(at_ms / 60_000)))) {
      await models.insert('minute_volumes', {
        minute, volume: sum(counted.filter(({ at_ms }) => Math.floor(at_ms / 60_000) === minute)),
      });
    }
    for (const nowMs of times.flatMap((at) => [at - 1, at, at + 1]).map((at) => at + DAY_MS)) {
      const { volume24h } = JSON.parse((await marketStats(models.db, { marketId, nowMs })).body) as { volume24h: number };
      assert.equal(volume24h, sum(counted.filter(({ at_ms }) => at_ms > nowMs - DAY_MS)), `at ${nowMs - DAY_MS - minuteMs} ms`);
    }
  });

  it('totals the platform by chain, and one chain flat', async () => {
    await models.insert('markets', { number: 1 }, { number: 2, chain_id: 137 }, { number: 3, resolved: true }, { number: 4, chain_id: 10 });
    await models.insert('market_volumes', { volume: UINT64_MAX, trades: 3 }, { market_id: bytes32(2), volume: 5, trades: 1 },
      { market_id: bytes32(3), volume: 1, trades: 2 });
    await models.advance(5);
    assert.deepEqual(await platformStats(models.db, {}), {
      body: '{"chains":[{"chainId":10,"totalVolume":0,"totalTrades":0}, {"chainId":137,"totalVolume":5,"totalTrades":1}, '
        + '{"chainId":31337,"totalVolume":18446744073709551616,"totalTrades":5}],"total_volume":18446744073709551621,"total_trades":6}',
      position: 4,
    });
    assert.equal((await platformStats(models.db, { chainId: 31_337 })).body,
      '{"chainId":31337,"totalVolume":18446744073709551616,"totalTrades":5}');
    assert.equal((await platformStats(models.db, { chainId: 1 })).body, '{"chainId":1,"totalVolume":0,"totalTrades":0}');
  });

  it('has an empty platform before the first market', async () => {
    assert.deepEqual(await platformStats(models.db, {}), { body: '{"chains":[],"total_volume":0,"total_trades":0}', position: -1 });
  });
});

function sum(trades: readonly { cost: number }[]): number {
  return trades.reduce((total, { cost }) => total + cost, 0);
}
