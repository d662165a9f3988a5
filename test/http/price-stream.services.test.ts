/** The price stream over HTTP and real read models: its beginning, reconnecting, heartbeats, limits, slow clients, and how it ends. */
import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { once as event } from 'node:events';
import { createBell, pause } from '../../engine/waiting.js';
import { createPlaces, type PlaceLimits } from '../../query/places.js';
import { createPriceFeed, type PriceFeed } from '../../query/price-feed.js';
import { createPriceStreams, type PriceStreams } from '../../query/price-stream.js';
import { closeServer } from '../../service/http/server.js';
import { readModels, type ReadModels } from '../support/read-models.js';
import { startShell, type RunningShell, type ShellOptions } from '../support/shell.js';
import { once, Wire } from '../support/wire.js';
import { until } from '../support/until.js';

const AT = 1_700_000_000_000;
const PATH = '/api/v1/prices/BTC/stream';
const STREAMS = 2_000;

const eventOf = (position: number) => (
  `id: ${position}\ndata: {"asset":"BTC","price":6140993501000,"priceUSD":61409.93501,"timestamp":${AT + position * 1_000},"source":"pyth"}\n\n`);

/** A client that reads a stream event by event. */
interface Client {
  readonly response: IncomingMessage;
  /** The text that has come, once it ends with this. */
  until(end: string): Promise<string>;
  /** Resolves when the answer has ended, with whether it was complete. */
  readonly ended: Promise<boolean>;
  leave(): void;
}

describe('service: the price stream', () => {
  let models: ReadModels;
  let feed: PriceFeed;
  let streams: PriceStreams;
  let shell: RunningShell;
  const beats = createBell();
  const clients: Client[] = [];
  before(async () => { models = await readModels(); });
  beforeEach(() => models.clear());
  afterEach(async () => {
    for (const client of clients.splice(0)) client.leave();
    await shell.stop();
    await feed.close();
  });
  after(() => models.close());

  const start = async (limits: Partial<PlaceLimits> = {}, options: ShellOptions = {}) => {
    feed = createPriceFeed({
      db: models.db, onError: (error) => { throw error; },
      pause: async (ms, signal) => { await (ms === 15_000 ? beats.wait(signal!, 60_000) : pause(ms, signal)); },
    });
    streams = createPriceStreams(feed, createPlaces('streams', { streams: STREAMS, perAddress: 0, ...limits }));
    shell = await startShell({ ...options, handlers: { streamPrices: streams.follow }, limits: { maxConnections: 2 * STREAMS, ...options.limits } });
  };
  const record = async (position: number) => {
    await models.insert('prices', { position, published_at_ms: AT + position * 1_000 });
    await models.advance(position + 1);
  };
  const open = async (headers: Record<string, string> = {}, localAddress = '127.0.0.1'): Promise<Client> => {
    const request = get({ host: '127.0.0.1', port: shell.port, path: PATH, headers, localAddress, agent: false });
    const [response] = await event(request, 'response') as [IncomingMessage];
    let text = '';
    const arrived = createBell();
    response.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      arrived.ring();
    });
    response.on('error', () => undefined);
    const ended = new Promise<boolean>((resolve) => { response.once('close', () => { resolve(response.complete); }); });
    const client: Client = {
      response, ended, leave: () => { request.destroy(); },
      async until(end) {
        for (const signal = AbortSignal.timeout(30_000); !text.endsWith(end);) {
          if (await arrived.wait(signal, 30_000) !== 'rung') throw new Error(`never came: ${JSON.stringify(end)}, after ${JSON.stringify(text)}`);
        }
        const whole = text;
        text = '';
        return whole;
      },
    };
    clients.push(client);
    return client;
  };
  /** Waits until so many streams are open. */
  const untilOpen = (count: number) => until(`${count} streams are open`, () => streams.open() === count || undefined);

  it('sends the newest price at once, each new one as it comes, and can be read by any page and through any proxy', async () => {
    await record(1);
    await record(2);
    await start();
    const client = await open();
    const { statusCode, headers } = client.response;
    assert.deepEqual(
      [statusCode, headers['content-type'], headers['cache-control'], headers['access-control-allow-origin'], headers['x-accel-buffering'], headers['content-length']],
      [200, 'text/event-stream; charset=utf-8', 'no-store', '*', 'no', undefined]);
    assert.equal(await client.until(eventOf(2)), `retry: 2000\n\n${eventOf(2)}`);
    await record(3);
    assert.equal(await client.until(eventOf(3)), eventOf(3));
    beats.ring();
    assert.equal(await client.until(':\n\n'), ':\n\n');
  });

  it('goes on where a client was cut off', async () => {
    await record(1);
    await start();
    const before = await open();
    await before.until(eventOf(1));
    before.leave();
    await record(2);
    await record(3);
    const after = await open({ 'Last-Event-ID': '1' });
    assert.equal(await after.until(eventOf(3)), `retry: 2000\n\n${eventOf(2)}${eventOf(3)}`);
  });

  it('refuses an id that is none', async () => {
    await start();
    const { status, body } = await once(shell.port, 'GET', PATH, { headers: { 'Last-Event-ID': 'x' } });
    assert.deepEqual([status, (JSON.parse(body) as { code: string }).code], [400, 'invalid_request']);
    assert.equal(streams.open(), 0);
  });

  it('answers HEAD with the head alone', async () => {
    await start();
    const wire = await Wire.connect(shell.port);
    for (const status of [200, 200]) assert.equal((await wire.request('HEAD', PATH).answer({ bodiless: true })).status, status);
    assert.equal(streams.open(), 0);
    wire.close();
  });

  it('has a limit per address and one for all, counts whoever leaves, and says when to ask again', async () => {
    await start({ streams: 3, perAddress: 2 });
    const refused = async (localAddress: string) => {
      const wire = await Wire.connect(shell.port, { from: localAddress });
      const { status, headers, body } = await wire.request('GET', PATH).answer();
      wire.close();
      return [status, (JSON.parse(body) as { code: string }).code, headers['retry-after']];
    };
    const [first] = [await open(), await open()];
    assert.deepEqual(await refused('127.0.0.1'), [429, 'too_many_streams', '5']);
    const other = await open({}, '127.0.0.2');
    assert.deepEqual(await refused('127.0.0.2'), [503, 'overloaded', '5']);
    first.leave();
    await untilOpen(2);
    await open();
    assert.deepEqual(await refused('127.0.0.1'), [503, 'overloaded', '5']);
    other.leave();
    await untilOpen(2);
    assert.deepEqual(await refused('127.0.0.1'), [429, 'too_many_streams', '5']);
  });

  it('cuts off a client that does not read, and nobody else', async () => {
    await start();
    const reading = await open();
    const deaf = await open();
    deaf.response.pause();
    // More than all buffers between the two hold.
    for (let n = 0; feed.cutOff() === 0; n++) {
      assert.ok(n < 2_000, 'it was never cut off');
      beats.ring();
      await models.run(
        `insert into prices select $1::integer * 1000 + n, 'BTC', repeat('x', 100000), 1, ($1::integer * 1000 + n)::bigint * 1000 from generate_series(1, 20) n`, [n]);
      await models.advance(n * 1_000 + 21);
      await reading.until('\n\n');
      await models.run('delete from prices');
    }
    deaf.response.resume();
    assert.equal(await deaf.ended, false);
    assert.deepEqual([streams.open(), reading.response.complete], [1, false]);
  });

  it('is not cut by the time that a request has to arrive', async () => {
    await start({}, { limits: { requestTimeoutMs: 100 } });
    const client = await open();
    await client.until('\n\n');
    const slow = await Wire.connect(shell.port);
    assert.equal((await slow.send('GET /').answer()).status, 408);
    await record(1);
    assert.equal(await client.until(eventOf(1)), eventOf(1));
  });

  it('ends when the service stops, whole for clients that read', async () => {
    await start();
    const [one, two] = [await open(), await open()];
    await Promise.all([one.until('\n\n'), two.until('\n\n')]);
    assert.equal(await closeServer(shell.app, shell.server, 60_000), 0);
    assert.deepEqual([await one.ended, await two.ended, streams.open()], [true, true, 0]);
  });

  it(`has ${STREAMS} streams at a time, and all get the same`, async () => {
    await record(1);
    await start();
    const all: Client[] = [];
    for (let n = 0; n < STREAMS; n += 100) all.push(...await Promise.all(Array.from({ length: 100 }, () => open())));
    assert.equal(streams.open(), STREAMS);
    await Promise.all(all.map((client) => client.until(eventOf(1))));
    await record(2);
    assert.deepEqual(new Set(await Promise.all(all.map((client) => client.until(eventOf(2))))), new Set([eventOf(2)]));
    assert.equal(feed.cutOff(), 0);
    assert.equal(await closeServer(shell.app, shell.server, 60_000), 0);
    assert.deepEqual(new Set(await Promise.all(all.map(({ ended }) => ended))), new Set([true]));
  });
});
