/** The Pyth source against a local Hermes server: its stream, its single requests, and everything that can go wrong with both. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict';
import { PYTH_FEEDS } from '../../command/prices/price-sources.js';
import { createPyth, type PythOptions } from '../../command/prices/providers/pyth.js';
import type { PriceSource } from '../../command/prices/price-source.js';
import type { StreamTimings } from '../../command/prices/providers/standing-stream.js';
import { startHermes, type HermesClient, type HermesPrice, type HermesServer } from '../support/price-servers.js';
import { BOUNDARY_MS, createPriceScene, type PriceScene } from '../support/price-scene.js';

const { BTC = '', ETH = '' } = PYTH_FEEDS;
const KEY = 'a-key-of-pyth';
const SECOND = BOUNDARY_MS / 1_000;
const span = { fromMs: BOUNDARY_MS, toMs: BOUNDARY_MS + 15_000 };

describe('prices: pyth', () => {
  let hermes: HermesServer;
  let scene: PriceScene;
  beforeEach(async () => {
    hermes = await startHermes({ feeds: [BTC, ETH], key: KEY });
    scene = createPriceScene(hermes.watch);
  });
  afterEach(async () => {
    await scene.over();
    await hermes.close();
  });

  function create({ timings = {}, ...given }: Pick<Partial<PythOptions>, 'key' | 'feeds'> & { timings?: Partial<StreamTimings> } = {}): PriceSource {
    const { ports } = scene;
    return createPyth({ url: hermes.url, key: KEY, feeds: { BTC, ETH }, ...given, ports, timings: { ...scene.timings, ...timings } });
  }

  /** The stream with this number, from 1, once it is open. */
  async function client(number: number): Promise<HermesClient> {
    await hermes.watch.until(`stream ${number}`, () => hermes.clients.length >= number);
    return hermes.clients[number - 1]!;
  }

  const seen = (count: number): Promise<void> => hermes.watch.until(`observation ${count}`, () => scene.observations.length >= count);

  it('gives each update of its feeds, in units of 1e-8 USD, from one connection with the key', async () => {
    const source = scene.begin(create());
    const { price, ids } = await client(1);
    price(BTC, { price: '6140993501000', conf: '3287868567', expo: -8, publish_time: SECOND });
    price(ETH, { price: '300012', conf: '12', expo: -2, publish_time: SECOND + 1 });
    await seen(2);
    deepEqual(scene.observations, [
      { asset: 'BTC', source: 'pyth', priceE8: 6_140_993_501_000n, confidenceE8: 3_287_868_567n, publishedAtMs: BOUNDARY_MS },
      { asset: 'ETH', source: 'pyth', priceE8: 300_012_000_000n, confidenceE8: 12_000_000n, publishedAtMs: BOUNDARY_MS + 1_000 },
    ]);
    deepEqual(ids, [BTC, ETH]);
    deepEqual(hermes.requests.map(({ headers }) => headers.authorization), [`Bearer ${KEY}`]);
    deepEqual(source.health(), { connected: true, connections: 1, lastHeardMs: BOUNDARY_MS, badMessages: 0, problem: undefined });
    deepEqual(scene.reports, []);
  });

  it('takes an event that comes in pieces, and ids with 0x', async () => {
    scene.begin(create());
    const { write } = await client(1);
    const update = { parsed: [{ id: `0x${BTC.toUpperCase()}`, note: '€', price: { price: '1', conf: '0', expo: 0, publish_time: SECOND } }] };
    const bytes = Buffer.from(`:comment\r\nid: 7\r\nretry: 1\r\nnobody: knows\r\ndata:${JSON.stringify(update)}\r\n\r\n`);
    const inside = bytes.indexOf('€') + 1;
    write(bytes.subarray(0, inside));
    await new Promise(setImmediate);
    write(bytes.subarray(inside));
    await seen(1);
    deepEqual(scene.observations, [{ asset: 'BTC', source: 'pyth', priceE8: 100_000_000n, confidenceE8: 0n, publishedAtMs: BOUNDARY_MS }]);
  });

  const unusable: readonly (readonly [what: string, written: string])[] = [
    ['what is not JSON', 'data:{"parsed":[\n\n'],
    ['no list of updates', 'data:{"binary":{}}\n\n'],
    ['a price that is a number', `data:${update({ price: 6_140_993_501_000 })}\n\n`],
    ['a negative price', `data:${update({ price: '-5' })}\n\n`],
    ['a price of zero', `data:${update({ price: '0' })}\n\n`],
    ['a price that no record can hold', `data:${update({ price: '9223372036854775808' })}\n\n`],
    ['an absurd exponent', `data:${update({ expo: 1_000_000_000 })}\n\n`],
    ['no time', `data:${update({ publish_time: null })}\n\n`],
    ['a time in another unit', `data:${update({ publish_time: 1.5 })}\n\n`],
    ['an event named error', 'event: error\ndata: Error receiving update: Lagged(3)\n\n'],
  ];
  for (const [what, written] of unusable) {
    it(`passes over ${what}, and stays connected`, async () => {
      const source = scene.begin(create());
      const { write, price } = await client(1);
      write(written);
      price(BTC, { publish_time: SECOND });
      await seen(1);
      equal(scene.observations.length, 1);
      equal(source.health().badMessages, 1);
      equal(source.health().connections, 1);
    });
  }

  it('ignores feeds and events that nobody has asked for', async () => {
    const source = scene.begin(create({ feeds: { BTC } }));
    const { write, price } = await client(1);
    write('event: weather\ndata: rain\n\n');
    price(ETH, { publish_time: SECOND });
    price(BTC, { publish_time: SECOND });
    await seen(1);
    deepEqual(scene.observations.map(({ asset }) => asset), ['BTC']);
    equal(source.health().badMessages, 0);
  });

  it('connects again when the server ends the stream after a day, each day at once and without a report', async () => {
    scene.begin(create());
    for (const day of [1, 2, 3]) {
      const { price, write, end } = await client(day);
      price(BTC, { publish_time: SECOND + day * 86_400 });
      await seen(day);
      scene.clock.nowMs += 86_400_000;
      write('event: error\ndata: Connection timeout reached (24h)\n\n');
      end();
    }
    await client(4);
    deepEqual([scene.pauses, scene.reports], [[500, 500, 500], []]);
  });

  it('connects again with growing pauses, and says what is wrong once, and when it is over', async () => {
    hermes.refuseNext(...Array.from({ length: 8 }, () => ({ status: 500, body: 'upstream\n' })));
    const source = scene.begin(create());
    await client(1);
    match(source.health().problem ?? '', /HTTP 500/);
    hermes.clients[0]!.price(BTC, { publish_time: SECOND });
    await seen(1);
    deepEqual(scene.pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    deepEqual(scene.reports, ['warn: pyth answers HTTP 500 (upstream); it is tried again', 'info: pyth: prices come again']);
    equal(source.health().problem, undefined);
  });

  it('does not connect without rest to a server that ends every connection', async () => {
    scene.begin(create());
    for (let number = 1; number <= 4; number++) {
      const each = await client(number);
      each.price(BTC, { publish_time: SECOND + number });
      await seen(number);
      each.end();
    }
    await client(5);
    deepEqual(scene.pauses, [500, 1_000, 2_000, 4_000]);
  });

  it('tries a wrong key every quarter of an hour, and tells the operator once, without the key', async () => {
    scene.begin(create({ key: 'a-wrong-key' }));
    await hermes.watch.until('three tries', () => hermes.requests.length === 3);
    deepEqual(scene.pauses.slice(0, 2), [900_500, 901_000]);
    deepEqual(scene.reports, ['alert: pyth answers HTTP 401 (Unauthorized): check its key; it is tried again']);
  });

  it('does not show a key that the server repeats', async () => {
    hermes.refuseNext({ status: 403, body: `the key ${KEY} is blocked` });
    scene.begin(create());
    await client(1);
    deepEqual(scene.reports, ['alert: pyth answers HTTP 403 (the key (key) is blocked): check its key; it is tried again']);
  });

  it('rests as long as the server asks for: seconds, a date, or a minute when it does not say', async () => {
    hermes.refuseNext(
      { status: 429, headers: { 'Retry-After': '7' } }, { status: 429, headers: { 'Retry-After': new Date(BOUNDARY_MS + 9_000).toUTCString() } },
      { status: 429, headers: { 'Retry-After': 'soon' } }, { status: 429 }, { status: 503, headers: { 'Retry-After': '3' } },
      { status: 429, headers: { 'Retry-After': '999999999' } },
    );
    scene.begin(create());
    await client(1);
    deepEqual(scene.pauses, [7_500, 10_000, 62_000, 64_000, 11_000, 3 * 86_400_000 + 16_000]);
  });

  it('says which feed the server does not know', async () => {
    scene.begin(create({ feeds: { BTC, ETC: 'ab'.repeat(32) } }));
    await hermes.watch.until('a report', () => scene.reports.length === 1);
    deepEqual(scene.reports, [`warn: pyth answers HTTP 404 (Price ids not found: 0x${'ab'.repeat(32)}); it is tried again`]);
  });

  it('does not follow a redirect, which would carry the key elsewhere', async () => {
    hermes.refuseNext({ status: 302, headers: { Location: '/v2/updates/price/elsewhere' } });
    scene.begin(create());
    await client(1);
    deepEqual(hermes.requests.map(({ url }) => url.pathname), ['/v2/updates/price/stream', '/v2/updates/price/stream']);
  });

  it('leaves a server that answers with anything but events', async () => {
    hermes.refuseNext({ status: 200, body: '{"parsed":[]}', headers: { 'content-type': 'application/json' } });
    const source = scene.begin(create());
    await client(1);
    equal(source.health().problem, 'answers with application/json instead of events');
  });

  it('leaves a server that answers nothing', async () => {
    hermes.ignoreNext(1_000);
    scene.begin(create({ timings: { silenceMs: 30 } }));
    await hermes.watch.until('a report', () => scene.reports.length === 1);
    deepEqual(scene.reports, ['warn: pyth has been silent for 30 ms; it is tried again']);
  });

  it('leaves a server that falls silent in the middle of an event, though it goes on sending bytes', async () => {
    scene.begin(create({ timings: { silenceMs: 100 } }));
    const dripping = setInterval(() => { for (const { write } of hermes.clients) write('data:{"parsed":['); }, 5);
    await hermes.watch.until('a report', () => scene.reports.length === 1);
    clearInterval(dripping);
    deepEqual(scene.reports, ['warn: pyth has been silent for 100 ms; it is tried again']);
  });

  it('is kept by comments alone, until a price has been missing for too long', async () => {
    const source = scene.begin(create());
    const { price, write } = await client(1);
    price(ETH, { publish_time: SECOND });
    await seen(1);
    scene.clock.nowMs += 60_000;
    price(ETH, { publish_time: SECOND + 60 });
    await seen(2);
    equal(source.health().connections, 1);
    scene.clock.nowMs += 1;
    write(': No update available\n\n');
    await client(2);
    equal(source.health().problem, 'has sent no price of BTC for 60000 ms');
  });

  it('leaves a server that sends too much without an end', async () => {
    const source = scene.begin(create());
    const first = await client(1);
    first.write(`data:${'x'.repeat(1_100_000)}`);
    await client(2);
    equal(source.health().problem, 'sends an event of more than 1048576 bytes');
    await hermes.watch.until('the connection is let go', () => first.response.destroyed);
  });

  it('connects again when the connection breaks off', async () => {
    const source = scene.begin(create());
    (await client(1)).response.destroy();
    await client(2);
    match(source.health().problem ?? '', /^breaks the stream off \(/);
  });

  it('lets everything go when it is closed, at every moment', async () => {
    const source = scene.begin(create());
    const { response } = await client(1);
    hermes.ignoreNext(1);
    const asked = rejects(source.observationsSince('BTC', span), /the source is closed/);
    await hermes.watch.until('the request', () => hermes.requests.length === 2);
    await source.close();
    await asked;
    await hermes.watch.until('the connection is let go', () => response.destroyed);
    equal(source.health().connected, false);
    await create().close();
  });

  describe('for a gap', () => {
    const price = (second: number): HermesPrice => ({ price: '5', conf: '1', expo: 0, publish_time: second });

    it('asks once for the first update at or after the beginning', async () => {
      hermes.past.set(BTC, [price(SECOND - 1), price(SECOND + 2), price(SECOND + 3)]);
      const found = await create().observationsSince('BTC', span);
      deepEqual(found, [{ asset: 'BTC', source: 'pyth', priceE8: 500_000_000n, confidenceE8: 100_000_000n, publishedAtMs: BOUNDARY_MS + 2_000 }]);
      deepEqual(hermes.requests.map(({ url }) => `${url.pathname}${decodeURI(url.search)}`), [`/v2/updates/price/${SECOND}?ids[]=${BTC}&parsed=true`]);
    });

    it('has nothing when the first update is after the end, and for assets without a feed', async () => {
      hermes.past.set(BTC, [price(SECOND + 16)]);
      deepEqual(await create().observationsSince('BTC', span), []);
      deepEqual(await create().observationsSince('DOGE', span), []);
    });

    it('fails when there is none, and leaves the server alone for as long as it asks for', async () => {
      const source = create();
      await rejects(source.observationsSince('BTC', span), { name: 'ProviderFailure', message: 'answers HTTP 404 (Update data not found)' });
      hermes.refuseNext({ status: 429 });
      await rejects(source.observationsSince('BTC', span), { name: 'ProviderFailure', waitMs: 60_000 });
      scene.clock.nowMs += 59_999;
      await rejects(source.observationsSince('BTC', span), { name: 'ProviderFailure', message: 'has asked for a pause', waitMs: 1 });
      equal(hermes.requests.length, 2);
      scene.clock.nowMs += 1;
      hermes.past.set(BTC, [price(SECOND)]);
      equal((await source.observationsSince('BTC', span)).length, 1);
    });

    it('fails on answers that are no JSON, too large, or broken off', async () => {
      const source = create();
      hermes.refuseNext({ status: 200, body: '<html>' }, { status: 200, body: ' '.repeat(2_100_000) }, { status: 200, body: '{', breaksOff: true });
      await rejects(source.observationsSince('BTC', span), { name: 'BadMessage', message: 'not JSON: <html>' });
      await rejects(source.observationsSince('BTC', span), { name: 'ProviderFailure', message: 'answers with more than 2097152 bytes' });
      await rejects(source.observationsSince('BTC', span), { name: 'ProviderFailure', message: /^breaks its answer off \(/ });
    });

    it('fails without an answer in time', async () => {
      hermes.ignoreNext(1);
      const source = create({ timings: { requestMs: 30 } });
      await rejects(source.observationsSince('BTC', span), { name: 'ProviderFailure', message: /^cannot be reached \(.*timeout/ });
    });

    it('fails when the server cannot be reached', async () => {
      await hermes.close();
      await rejects(create().observationsSince('BTC', span), { name: 'ProviderFailure', message: 'cannot be reached (ECONNREFUSED)' });
      hermes = await startHermes({ feeds: [BTC, ETH], key: KEY });
    });
  });
});

function update(price: object): string {
  return JSON.stringify({ parsed: [{ id: PYTH_FEEDS['BTC'], price: { price: '5', conf: '1', expo: 0, publish_time: SECOND, ...price } }] });
}
