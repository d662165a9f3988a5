/** Candles of markets and assets: pages from the latest on, what is closed, and what is immutable. */
import assert from 'node:assert/strict';
import { candlesOfAsset, candlesOfMarket, type CandlePage } from '../../query/candles.js';
import { cursorAfter } from '../../query/paging.js';
import type { Answer } from '../../query/statement.js';
import { UINT64_MAX, bytes32, readModels, type ReadModels } from '../support/read-models.js';

const marketId = bytes32(1);
/** A whole day, in seconds. */
const DAY = 1_700_006_400;
const at = (second: number) => ({ at_ms: (DAY + second) * 1_000 });
const IMMUTABLE = { 'Cache-Control': 'public, max-age=31536000, immutable' };

interface Candles { candles: { start: number; closed: boolean }[]; count: number; nextCursor?: string }

describe('query: candles', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(async () => {
    await models.clear();
    await models.insert('markets', { number: 1 }, { number: 2 });
  });
  after(() => models.close());

  const read = (asked: CandlePage & { outcome?: 0 | 1 }) => candlesOfMarket(models.db, { marketId, ...asked });
  const bodyOf = ({ body }: Answer) => JSON.parse(body) as Candles;
  const startsOf = (answer: Answer) => bodyOf(answer).candles.map(({ start }) => start - DAY);
  const closedOf = (answer: Answer) => bodyOf(answer).candles.map(({ closed }) => closed);

  it('has the prices, volume and number of one outcome\'s trades, exactly, without failed ones', async () => {
    await models.insert('trades',
      { number: 0, price: 300_000, cost: UINT64_MAX, settlement: 2, ...at(0) }, { number: 1, price: 900_000, settlement: 3, ...at(1) },
      { number: 2, price: 700_000, cost: 1, settlement: 2, ...at(30) }, { number: 3, outcome: 1, price: 1, settlement: 2, ...at(40) },
      { number: 4, price: 200_000, cost: 1, settlement: 2, ...at(59) }, { number: 5, price: 400_000, cost: 5, settlement: 2, ...at(60) },
      { number: 6, market_id: bytes32(2), price: 2, ...at(61) });
    await models.advance(7, (DAY + 61) * 1_000);
    const { body, position, headers } = await read({ interval: '1m', outcome: 0 });
    assert.equal(body, `{"marketId":"${marketId}","outcome":0,"interval":"1m","candles":[`
    + `{"start":${DAY},"open":300000,"high":700000,"low":200000,"close":200000,"volume":18446744073709551617,"trades":3,"closed":true}, `
    + ` {"start":${DAY + 60},"open":400000,"high":400000,"low":400000,"close":400000,"volume":5,"trades":1,"closed":false}],"count":2}`.slice(1));
    assert.deepEqual([position, headers], [6, undefined]);
    for (const [interval, trades] of [['5m', 4], ['15m', 4], ['1h', 4], ['1d', 4]] as const) {
      assert.deepEqual(bodyOf(await read({ interval, outcome: 0 })).candles, [{
        start: DAY, open: 300_000, high: 700_000, low: 200_000, close: 400_000, volume: Number('18446744073709551622'), trades, closed: false,
      }]);
    }
    assert.deepEqual(startsOf(await read({ interval: '1m', outcome: 1 })), [0]);
  });

  it('goes back in pages, from the latest before `to` to the first from `from` on', async () => {
    await models.insert('trades', ...[0, 60, 120, 180, 240].map((second, number) => ({ number, settlement: 2, ...at(second) })));
    assert.deepEqual(startsOf(await read({ interval: '1m', from: DAY + 60, to: DAY + 240 })), [60, 120, 180]);
    const first = await read({ interval: '1m', from: DAY + 1, limit: 2 });
    assert.deepEqual(startsOf(first), [180, 240]);
    // What comes in between does not move the pages.
    await models.insert('trades', { number: 9, settlement: 2, ...at(300) });
    const second = await read({ interval: '1m', from: DAY + 1, limit: 2, cursor: bodyOf(first).nextCursor });
    assert.deepEqual(startsOf(second), [60, 120]);
    const third = await read({ interval: '1m', from: DAY + 1, limit: 2, cursor: bodyOf(second).nextCursor });
    assert.deepEqual(bodyOf(third), { marketId, outcome: 0, interval: '1m', candles: [], count: 0 });
  });

  it('closes a candle when its time is over and its trades are settled; a page is immutable when nothing can come into it', async () => {
    await models.insert('trades', { number: 0, settlement: 2, ...at(0) }, { number: 1, settlement: 0, ...at(60) }, { number: 2, settlement: 2, ...at(120) });
    const pages = async () => Promise.all([60, 61, 120, 180].map(async (to) => (await read({ interval: '1m', to: DAY + to })).headers));
    await models.advance(1, (DAY + 60) * 1_000);
    assert.deepEqual(closedOf(await read({ interval: '1m' })), [true, false, false]);
    assert.deepEqual(await pages(), [IMMUTABLE, undefined, undefined, undefined]);
    await models.run('update trades set settlement = 2');
    await models.derive();
    assert.deepEqual(closedOf(await read({ interval: '1m' })), [true, false, false], 'their time is not over');
    await models.advance(1, (DAY + 180) * 1_000);
    assert.deepEqual(closedOf(await read({ interval: '1m' })), [true, true, true]);
    assert.deepEqual(await pages(), [IMMUTABLE, IMMUTABLE, IMMUTABLE, IMMUTABLE]);
    assert.equal((await read({ interval: '1m' })).headers, undefined, 'a page without an end goes on');
    await models.run('update trades set settlement = 1 where number = 1');
    await models.derive();
    assert.deepEqual(closedOf(await read({ interval: '1m' })), [true, false, false], 'the settlement of the fills before is awaited');
    assert.deepEqual((await read({ interval: '5m', to: DAY + 1 })).headers, undefined, 'its last candle goes on after `to`');
  });

  it('refuses an unknown market, and a cursor that is not one of candles, telling what to send', async () => {
    await assert.rejects(candlesOfMarket(models.db, { marketId: bytes32(9) }), { name: 'RequestError', code: 'unknown_market' });
    const spoilt = ['', '!', 'e30', 'bnVsbA', 'WyJ0cmFkZXMiLDBd', cursorAfter('candles', []), cursorAfter('candles', ['1']), cursorAfter('candles', [-1]),
      cursorAfter('candles', [1.5]), cursorAfter('candles', [1, 2]), cursorAfter('price_candles', [1]), `${cursorAfter('candles', [1])}=`, 'A'.repeat(401)];
    for (const cursor of spoilt) {
      assert.throws(() => read({ cursor }), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'invalid_request');
        assert.match(error.message, /send `nextCursor` of the page before unchanged/);
        return true;
      }, cursor);
    }
  });

  it('has candles of an asset, closed once a later one has begun', async () => {
    const candle = (interval_s: number, start: number) => models.run(`insert into price_candles values ('BTC', $1, $2, 5, 9, 1, 7, 3)`, [interval_s, start]);
    await candle(60, DAY);
    await candle(60, DAY + 60);
    await candle(3_600, DAY);
    await models.advance(4);
    const { body, position } = await candlesOfAsset(models.db, { asset: 'BTC', interval: '1m' });
    const fields = { open: 5, high: 9, low: 1, close: 7, volume: 0, trades: 0, prices: 3 };
    assert.deepEqual(JSON.parse(body), {
      asset: 'BTC', interval: '1m', count: 2, candles: [{ start: DAY, ...fields, closed: true }, { start: DAY + 60, ...fields, closed: false }],
    });
    assert.equal(position, 3);
    assert.deepEqual((await candlesOfAsset(models.db, { asset: 'BTC', interval: '1m', to: DAY + 60 })).headers, IMMUTABLE);
    assert.equal((await candlesOfAsset(models.db, { asset: 'BTC', interval: '1m', to: DAY + 61 })).headers, undefined);
    const last = bodyOf(await candlesOfAsset(models.db, { asset: 'BTC', interval: '1m', limit: 1 }));
    assert.deepEqual(startsOf(await candlesOfAsset(models.db, { asset: 'BTC', interval: '1m', cursor: last.nextCursor })), [0]);
    assert.equal((await candlesOfAsset(models.db, { asset: 'ETH' })).body, '{"asset":"ETH","interval":"1h","candles":[],"count":0}');
  });
});
