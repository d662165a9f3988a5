/** Quick markets as they are read: the one that runs, what is shown before and without a strike, and how each one ended. */
import assert from 'node:assert/strict';
import { activeQuickMarket, quickMarketHistory } from '../../query/quick-markets.js';
import { address, bytes32, readModels, type ReadModels } from '../support/read-models.js';

const START = 1_700_000_100;
const END = START + 900;
const INT64_MAX = '9223372036854775807';

describe('query: quick markets', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(() => models.clear());
  after(() => models.close());

  const market = (fields: object = {}) => ({
    id: 1, marketId: bytes32(1), asset: 'BTC', intervalMinutes: 15, startPrice: null, startTime: START, endTime: END, resolved: false,
    priceSource: '', createdAt: START - 600, chainId: 31_337, contractAddress: address(1_001), priceMissed: false, ...fields,
  });
  const past = (fields: object = {}) => ({ ...market(), endPrice: null, outcome: null, payment: 'none', ...fields });
  const active = async (nowS: number, asset = 'BTC', chainId?: number) => (
    JSON.parse((await activeQuickMarket(models.db, { asset, chainId, nowS })).body) as unknown);
  const history = async (nowS: number, asset = 'BTC', chainId?: number) => (
    JSON.parse((await quickMarketHistory(models.db, { asset, chainId, nowS })).body) as { asset: string; history: { id: number }[] });
  const none = { active: false, asset: 'BTC', quickMarket: null, bestAskPrice: 0 };

  it('runs from its start until before its end, with its best YES ask', async () => {
    await models.insert('quick_markets', { number: 1 }, { number: 2, asset: 'ETH' });
    await models.insert('levels',
      { side: 1, price: 700_000 }, { side: 1, price: 650_000 }, { side: 1, outcome: 1, price: 1 }, { side: 0, price: 2 },
      { side: 1, market_id: bytes32(2), price: 3 });
    await models.advance(7);
    const running = { active: true, asset: 'BTC', quickMarket: market(), bestAskPrice: 650_000 };
    assert.deepEqual(await active(START - 1), none);
    assert.deepEqual(await active(START), running);
    assert.deepEqual(await active(END - 1), running);
    assert.deepEqual(await active(END), none);
    assert.deepEqual(await active(START, 'ETH'), {
      active: true, asset: 'ETH', quickMarket: market({ id: 2, marketId: bytes32(2), asset: 'ETH', contractAddress: address(1_002) }), bestAskPrice: 3,
    });
    assert.equal((await activeQuickMarket(models.db, { asset: 'BTC', nowS: START })).position, 6);
    await models.run('delete from levels');
    assert.deepEqual(await active(START), { ...running, bestAskPrice: 0 });
  });

  it('has its strike as an exact integer of 64 bits', async () => {
    await models.insert('quick_markets', { number: 1, strike_price: INT64_MAX, strike_source: 'pyth', strike_at_ms: START * 1_000 });
    const { body } = await activeQuickMarket(models.db, { asset: 'BTC', nowS: START });
    assert.match(body, new RegExp(`"startPrice":${INT64_MAX},.*"priceSource":"pyth"`));
  });

  it('is, on several chains, that of the lowest chain id or of the chain asked for; of several on a chain the one that began last', async () => {
    await models.insert('quick_markets',
      { number: 1, chain_id: 137 }, { number: 2, chain_id: 10 }, { number: 3, chain_id: 10, start_time: START + 300, end_time: END + 300 });
    const idAt = async (nowS: number, chainId?: number) => (await active(nowS, 'BTC', chainId) as { quickMarket: { id: number } | null }).quickMarket?.id;
    assert.deepEqual([await idAt(START), await idAt(START + 300), await idAt(START, 137), await idAt(START, 1)], [2, 3, 1, undefined]);
    assert.deepEqual((await history(END, 'BTC', 10)).history.map(({ id }) => id), [3, 2]);
  });

  const shapes: { name: string; row: object; shown: object }[] = [
    { name: 'running', row: {}, shown: {} },
    { name: 'ended, with prices that decide', row: { strike_price: 5, strike_source: 'pyth', end_price: 4, end_source: 'binance', outcome: 1 },
      shown: { startPrice: 5, priceSource: 'pyth', endPrice: 4, outcome: 1, resolved: true } },
    { name: 'paid', row: { strike_price: 5, strike_source: 'pyth', end_price: 5, end_source: 'pyth', outcome: 0, paid: 0 },
      shown: { startPrice: 5, priceSource: 'pyth', endPrice: 5, outcome: 0, resolved: true, payment: 'yes' } },
    { name: 'without a strike', row: { start_missed: true, end_price: 4, end_source: 'pyth' }, shown: { endPrice: 4, priceMissed: true } },
    { name: 'without an end price', row: { strike_price: 5, strike_source: 'pyth', end_missed: true }, shown: { startPrice: 5, priceSource: 'pyth', priceMissed: true } },
    { name: 'with prices that were missed and came', row: { strike_price: 5, strike_source: 'pyth', start_missed: true, end_price: 6, end_source: 'pyth', end_missed: true, outcome: 0 },
      shown: { startPrice: 5, priceSource: 'pyth', endPrice: 6, outcome: 0, resolved: true } },
    { name: 'paid half to half', row: { start_missed: true, end_missed: true, paid: 2 }, shown: { priceMissed: true, resolved: true, payment: 'half' } },
    { name: 'paid without prices in the history', row: { paid: 1 }, shown: { outcome: 1, resolved: true, payment: 'no' } },
    { name: 'of a short interval', row: { end_time: START + 20 }, shown: { endTime: START + 20, intervalMinutes: 0.3333 } },
  ];
  for (const { name, row, shown } of shapes) {
    it(`is listed: ${name}`, async () => {
      await models.insert('quick_markets', { number: 1, ...row });
      assert.deepEqual(await history(END), { asset: 'BTC', history: [past(shown)] });
    });
  }

  it('lists the 100 latest that have begun, latest end first', async () => {
    assert.deepEqual(await history(END), { asset: 'BTC', history: [] });
    await models.insert('quick_markets', ...Array.from({ length: 103 }, (_, n) => ({ number: n, start_time: START + 900 * n, end_time: END + 900 * n })));
    const ids = (await history(START + 900 * 101)).history.map(({ id }) => id);
    assert.deepEqual(ids, Array.from({ length: 100 }, (_, n) => 101 - n));
  });
});
