/** The Binance source against a local server: its streams, its candles, and the ends that it announces. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { createBinance } from '../../command/prices/providers/binance.js';
import type { PriceSource } from '../../command/prices/price-source.js';
import { startBinance, type BinanceClient, type BinanceServer } from '../support/price-servers.js';
import { BOUNDARY_MS, createPriceScene, type PriceScene } from '../support/price-scene.js';

describe('prices: binance', () => {
  let binance: BinanceServer;
  let scene: PriceScene;
  beforeEach(async () => {
    binance = await startBinance();
    scene = createPriceScene(binance.watch);
  });
  afterEach(async () => {
    await scene.over();
    await binance.close();
  });

  function create(): PriceSource {
    const { ports, timings } = scene;
    return createBinance({ url: binance.url, streamUrl: binance.webSocketUrl, assets: ['BTC', 'ETH'], ports, timings });
  }

  async function client(number: number): Promise<BinanceClient> {
    await binance.watch.until(`connection ${number}`, () => binance.clients.length >= number);
    return binance.clients[number - 1]!;
  }

  const seen = (count: number): Promise<void> => binance.watch.until(`observation ${count}`, () => scene.observations.length >= count);

  it('gives each ticker of its symbols, and answers pings', async () => {
    const source = scene.begin(create());
    const { ticker, streams, socket } = await client(1);
    let pong: string | undefined;
    socket.on('pong', (payload) => { pong = payload.toString(); binance.watch.ring(); });
    socket.ping('1800000000000');
    ticker('BTCUSDT', '61409.93000000', BOUNDARY_MS + 7);
    ticker('DOGEUSDT', '0.1', BOUNDARY_MS);
    ticker('ETHUSDT', '1285.22', BOUNDARY_MS + 1_007);
    await seen(2);
    await binance.watch.until('the pong', () => pong === '1800000000000');
    deepEqual(scene.observations, [
      { asset: 'BTC', source: 'binance', priceE8: 6_140_993_000_000n, publishedAtMs: BOUNDARY_MS + 7 },
      { asset: 'ETH', source: 'binance', priceE8: 128_522_000_000n, publishedAtMs: BOUNDARY_MS + 1_007 },
    ]);
    deepEqual([...streams], ['btcusdt@miniTicker', 'ethusdt@miniTicker']);
    equal(source.health().badMessages, 0);
  });

  it('passes over what it cannot use, and ignores what nobody knows', async () => {
    const source = scene.begin(create());
    const { socket, ticker } = await client(1);
    for (const known of ['{"result":null,"id":1}', '{"stream":"x","data":{"e":"trade","s":"BTCUSDT","p":"1"}}', '{"stream":"btcusdt@miniTicker"}']) socket.send(known);
    for (const bad of [
      '{', '{"data":[]}', '{"data":{"e":"24hrMiniTicker","s":"BTCUSDT","c":"1,5","E":1}}', '{"data":{"e":"24hrMiniTicker","s":"BTCUSDT","c":"1"}}',
      '{"data":{"e":"24hrMiniTicker","s":"BTCUSDT","c":"1","E":"1800000000000"}}', '{"data":{"e":"24hrMiniTicker","s":"BTCUSDT","c":"1","E":1e300}}',
    ]) socket.send(bad);
    ticker('BTCUSDT', '5', BOUNDARY_MS);
    await seen(1);
    deepEqual([scene.observations.length, source.health().badMessages, source.health().connections], [1, 6, 1]);
  });

  it('leaves a server that is about to shut down, at once and without a report', async () => {
    const source = scene.begin(create());
    const first = await client(1);
    first.ticker('BTCUSDT', '5', BOUNDARY_MS);
    await seen(1);
    scene.clock.nowMs += 3_600_000;
    first.serverShutdown();
    await client(2);
    deepEqual([scene.pauses, scene.reports], [[500], []]);
    equal(source.health().problem, 'is about to shut this server down');
  });

  it('leaves a server that answers with an error', async () => {
    const source = scene.begin(create());
    (await client(1)).socket.send('{"code":3,"msg":"Invalid JSON: expected value at line 1 column 1"}');
    await client(2);
    equal(source.health().problem, 'says: Invalid JSON: expected value at line 1 column 1');
  });

  it('takes pings without prices for life, but not for ever', async () => {
    const source = scene.begin(create());
    const { socket, ticker } = await client(1);
    ticker('BTCUSDT', '5', BOUNDARY_MS);
    await seen(1);
    scene.clock.nowMs += 60_001;
    socket.ping();
    await client(2);
    equal(source.health().problem, 'has sent no price of BTC for 60000 ms');
  });

  describe('for a gap', () => {
    const candle = (n: number): typeof binance.candles[number] => ({ openMs: BOUNDARY_MS + n * 1_000, open: `${60_000 + n}.00000000`, trades: n % 10 === 9 ? 0 : 3 });

    it('gives the opening price of each second that had a trade, through as many pages as it takes', async () => {
      binance.candles = Array.from({ length: 1_300 }, (_, n) => candle(n));
      const found = await create().observationsSince('BTC', { fromMs: BOUNDARY_MS + 1, toMs: BOUNDARY_MS + 1_250_000 });
      equal(found.length, 1_125);
      deepEqual(found[0], { asset: 'BTC', source: 'binance', priceE8: 6_000_100_000_000n, publishedAtMs: BOUNDARY_MS + 1_000 });
      deepEqual(found.at(-1)!.publishedAtMs, BOUNDARY_MS + 1_250_000);
      deepEqual(binance.requests.map(({ url }) => url.searchParams.get('startTime')), [`${BOUNDARY_MS + 1_000}`, `${BOUNDARY_MS + 1_001_000}`]);
    });

    it('has nothing when there are no candles, and asks nothing for a span without a second', async () => {
      deepEqual(await create().observationsSince('BTC', { fromMs: BOUNDARY_MS, toMs: BOUNDARY_MS }), []);
      deepEqual(await create().observationsSince('BTC', { fromMs: BOUNDARY_MS + 1, toMs: BOUNDARY_MS + 2 }), []);
      equal(binance.requests.length, 1);
    });

    it('fails on what the server refuses, on candles of another time, and on what are no candles', async () => {
      const source = create();
      await rejects(source.observationsSince('ETH', { fromMs: 0, toMs: 1_000 }), { name: 'ProviderFailure', message: 'answers HTTP 400 ({"code":-1121,"msg":"Invalid symbol."})' });
      const since = (): Promise<unknown> => source.observationsSince('BTC', { fromMs: BOUNDARY_MS, toMs: BOUNDARY_MS + 9_000_000 });
      binance.refuseNext({ status: 200, body: JSON.stringify(Array.from({ length: 1_000 }, () => [BOUNDARY_MS - 1_000, '5'])) });
      await rejects(since(), { name: 'BadMessage', message: 'candles of another time than asked for' });
      for (const body of ['{}', '[5]', `[[${BOUNDARY_MS}]]`, '[["5","5"]]']) {
        binance.refuseNext({ status: 200, body });
        await rejects(since(), { name: 'BadMessage' });
      }
      binance.refuseNext({ status: 418, headers: { 'Retry-After': '300' } });
      await rejects(since(), { name: 'ProviderFailure', waitMs: 300_000 });
      await rejects(since(), { name: 'ProviderFailure', message: 'has asked for a pause' });
    });
  });
});
