/** The Coinbase source against a local server: its feed, its pages of trades, and what can go wrong with a WebSocket. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict';
import { createCoinbase } from '../../command/prices/providers/coinbase.js';
import type { PriceSource } from '../../command/prices/price-source.js';
import type { StreamTimings } from '../../command/prices/providers/standing-stream.js';
import { startCoinbase, type CoinbaseClient, type CoinbaseServer } from '../support/price-servers.js';
import { BOUNDARY_MS, createPriceScene, type PriceScene } from '../support/price-scene.js';

const iso = (ms: number): string => new Date(ms).toISOString();

describe('prices: coinbase', () => {
  let coinbase: CoinbaseServer;
  let scene: PriceScene;
  beforeEach(async () => {
    coinbase = await startCoinbase();
    scene = createPriceScene(coinbase.watch);
  });
  afterEach(async () => {
    await scene.over();
    await coinbase.close();
  });

  function create({ assets = ['BTC', 'ETH'], timings = {} }: { assets?: readonly string[]; timings?: Partial<StreamTimings> } = {}): PriceSource {
    return createCoinbase({
      url: coinbase.url, streamUrl: coinbase.webSocketUrl, assets, ports: scene.ports, timings: { ...scene.timings, ...timings },
    });
  }

  /** The connection with this number, from 1, once it has subscribed. */
  async function client(number: number): Promise<CoinbaseClient> {
    await coinbase.watch.until(`subscription ${number}`, () => coinbase.clients[number - 1]?.subscription !== undefined);
    return coinbase.clients[number - 1]!;
  }

  const seen = (count: number): Promise<void> => coinbase.watch.until(`observation ${count}`, () => scene.observations.length >= count);

  it('subscribes to tickers and heartbeats, and gives each ticker of its products', async () => {
    const source = scene.begin(create());
    const { ticker, heartbeat, subscription } = await client(1);
    heartbeat('BTC-USD');
    ticker('BTC-USD', '61409.93', '2027-01-15T08:00:00.123456Z');
    ticker('DOGE-USD', '0.1', iso(BOUNDARY_MS));
    ticker('ETH-USD', '1285.2200000055', '2027-01-15T08:00:01Z');
    await seen(2);
    deepEqual(scene.observations, [
      { asset: 'BTC', source: 'coinbase', priceE8: 6_140_993_000_000n, publishedAtMs: BOUNDARY_MS + 123 },
      { asset: 'ETH', source: 'coinbase', priceE8: 128_522_000_000n, publishedAtMs: BOUNDARY_MS + 1_000 },
    ]);
    deepEqual(subscription, { type: 'subscribe', product_ids: ['BTC-USD', 'ETH-USD'], channels: ['ticker', 'heartbeat'] });
    deepEqual(source.health(), { connected: true, connections: 1, lastHeardMs: BOUNDARY_MS, badMessages: 0, problem: undefined });
  });

  const ticker = (part: object): string => JSON.stringify({ type: 'ticker', product_id: 'BTC-USD', price: '5', time: iso(BOUNDARY_MS), ...part });
  const unusable: readonly (readonly [what: string, sent: string | Buffer])[] = [
    ['what is not JSON', '{"type":"ticker"'], ['a list', '[]'], ['null', 'null'], ['an empty message', ''], ['bytes', Buffer.from([0xff, 0xfe])],
    ['a price with an exponent', ticker({ price: '1e5' })], ['a price that is a number', ticker({ price: 61_409.93 })], ['no price', ticker({ price: undefined })],
    ['a price that says it is none', ticker({ price: 'NaN' })], ['a price of zero', ticker({ price: '0.000000001' })],
    ['a local time', ticker({ time: '2027-01-15T08:00:00' })], ['a day that is none', ticker({ time: '2027-02-31T08:00:00Z'.replace('02-31', '13-01') })],
  ];
  for (const [what, sent] of unusable) {
    it(`passes over ${what}, and stays connected`, async () => {
      const source = scene.begin(create());
      const { socket, ticker: good } = await client(1);
      socket.send(sent);
      good('BTC-USD', '5', iso(BOUNDARY_MS));
      await seen(1);
      deepEqual([scene.observations.length, source.health().badMessages, source.health().connections], [1, 1, 1]);
    });
  }

  it('ignores types that nobody knows', async () => {
    const source = scene.begin(create());
    const { socket, ticker: good } = await client(1);
    socket.send('{"type":"auction","product_id":"BTC-USD","price":"1"}');
    socket.send('{}');
    good('BTC-USD', '5', iso(BOUNDARY_MS));
    await seen(1);
    deepEqual([scene.observations.length, source.health().badMessages], [1, 0]);
  });

  it('leaves when the provider sends an error, and tries again with growing pauses', async () => {
    scene.begin(create({ assets: ['BTC', 'XYZ'] }));
    await coinbase.watch.until('three subscriptions', () => coinbase.clients.filter(({ subscription }) => subscription !== undefined).length === 3);
    deepEqual(scene.pauses, [500, 1_000]);
    deepEqual(scene.reports, ['warn: coinbase says: Failed to subscribe (XYZ-USD is not a valid product); it is tried again']);
  });

  it('connects again after a close, also with a reason, and after a break', async () => {
    const source = scene.begin(create());
    (await client(1)).socket.close(1008, 'ErrSlowConsume');
    (await client(2)).socket.terminate();
    equal(source.health().problem, 'has closed the connection (1008, ErrSlowConsume)');
    await client(3);
    equal(source.health().problem, 'has closed the connection (1006)');
  });

  it('rests as long as a refused handshake asks for, and tells the operator of a refusal that only they can end', async () => {
    coinbase.refuseNext({ status: 429, headers: { 'Retry-After': '2' } }, { status: 418, headers: { 'Retry-After': '120' } }, { status: 403 }, { status: 502 });
    scene.begin(create());
    await client(1);
    deepEqual(scene.pauses, [2_500, 121_000, 902_000, 4_000]);
    deepEqual(scene.reports, [
      'warn: coinbase answers HTTP 429; it is tried again', 'warn: coinbase answers HTTP 418; it is tried again',
      'alert: coinbase answers HTTP 403: check its key; it is tried again', 'warn: coinbase answers HTTP 502; it is tried again',
    ]);
  });

  for (const [what, ignored] of [['does not answer the handshake', 1_000], ['falls silent after the subscription', 0]] as const) {
    it(`leaves a server that ${what}`, async () => {
      coinbase.ignoreNext(ignored);
      scene.begin(create({ timings: { silenceMs: 100 } }));
      await coinbase.watch.until('a report', () => scene.reports.length === 1);
      deepEqual(scene.reports, ['warn: coinbase has been silent for 100 ms; it is tried again']);
      equal(coinbase.clients.length > 0, ignored === 0);
    });
  }

  it('takes heartbeats without prices for life, but not for ever', async () => {
    const source = scene.begin(create({ assets: ['BTC'] }));
    const { heartbeat, ticker: good } = await client(1);
    scene.clock.nowMs += 59_000;
    heartbeat('BTC-USD');
    good('BTC-USD', '5', iso(BOUNDARY_MS));
    await seen(1);
    scene.clock.nowMs += 60_001;
    heartbeat('BTC-USD');
    await client(2);
    equal(source.health().problem, 'has sent no price of BTC for 60000 ms');
  });

  it('leaves a server whose message is too large', async () => {
    const source = scene.begin(create());
    (await client(1)).socket.send(`{"type":"x${'x'.repeat(1_100_000)}"}`);
    await client(2);
    match(source.health().problem ?? '', /^breaks the connection \(Max payload size exceeded\)/);
  });

  it('says that nobody listens there', async () => {
    await coinbase.close();
    scene.begin(create());
    await coinbase.watch.until('a report', () => scene.reports.length === 1);
    match(scene.reports[0]!, /^warn: coinbase breaks the connection \(connect ECONNREFUSED 127\.0\.0\.1:\d+\)/);
    await scene.over();
    coinbase = await startCoinbase();
  });

  it('lets the connection go when it is closed, in the handshake too', async () => {
    coinbase.ignoreNext(1);
    const early = scene.begin(create());
    await coinbase.watch.until('the handshake', () => coinbase.requests.length === 1);
    await early.close();
    const source = scene.begin(create());
    const { socket } = await client(1);
    await source.close();
    await coinbase.watch.until('the connection is let go', () => socket.readyState === socket.CLOSED);
    equal(source.health().connected, false);
  });

  describe('for a gap', () => {
    /** Trades with rising numbers, four in a second, the newest first. */
    const trades = (count: number): typeof coinbase.trades => Array.from({ length: count }, (_, i) => (
      { trade_id: 1_000_000 + i, price: `${60_000 + i}.5`, time: iso(BOUNDARY_MS + i * 250) })).reverse();

    it('gives the first trade of each second, through as many pages as it takes', async () => {
      coinbase.trades = trades(2_500);
      const found = await create().observationsSince('BTC', { fromMs: BOUNDARY_MS + 100, toMs: BOUNDARY_MS + 600_000 });
      equal(found.length, 601);
      deepEqual(found.slice(0, 3), [250, 1_000, 2_000].map((ms) => (
        { asset: 'BTC', source: 'coinbase', priceE8: 6_000_000_000_000n + BigInt(ms / 250) * 100_000_000n + 50_000_000n, publishedAtMs: BOUNDARY_MS + ms })));
      deepEqual(coinbase.requests.map(({ url }) => url.search), ['?limit=1000', '?limit=1000&after=1001500', '?limit=1000&after=1000500']);
    });

    it('reaches back ten pages, and gives what is there', async () => {
      coinbase.trades = trades(12_000);
      const found = await create().observationsSince('BTC', { fromMs: BOUNDARY_MS, toMs: BOUNDARY_MS + 3_000_000 });
      equal(coinbase.requests.length, 10);
      deepEqual([found.length, found[0]!.publishedAtMs], [2_500, BOUNDARY_MS + 500_000]);
    });

    it('has nothing when there were no trades', async () => {
      deepEqual(await create().observationsSince('BTC', { fromMs: BOUNDARY_MS, toMs: BOUNDARY_MS + 1_000 }), []);
    });

    it('fails on pages that do not go back, on trades that are none, and on what the server refuses', async () => {
      const source = create();
      const since = (): Promise<unknown> => source.observationsSince('BTC', { fromMs: 0, toMs: BOUNDARY_MS });
      const page = (...list: unknown[]): { status: number; body: string } => ({ status: 200, body: JSON.stringify(list) });
      const [trade] = trades(1);
      coinbase.refuseNext(page(trade), page(trade));
      await rejects(since(), { name: 'BadMessage', message: 'not the number of an older trade: 1000000' });
      coinbase.refuseNext(page({ ...trade, price: 5 }));
      await rejects(since(), { name: 'BadMessage', message: 'not a decimal string: 5' });
      await rejects(source.observationsSince('ETH', { fromMs: 0, toMs: BOUNDARY_MS }), { name: 'ProviderFailure', message: 'answers HTTP 404 ({"message":"NotFound"})' });
    });
  });
});
