/** The price stream under clients that mean no good, or know no better: half open, old, gone at once, with strange ids, methods and assets. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { queryObjects } from 'node:v8';
import { createPlaces } from '../../query/places.js';
import { createPriceFeed, type PriceFeed } from '../../query/price-feed.js';
import { createPriceStreams, streamPrices, type PriceStreams } from '../../query/price-stream.js';
import { readModels, type ReadModels } from '../support/read-models.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once, Wire } from '../support/wire.js';
import { until } from '../support/until.js';

const AT = 1_700_000_000_000;
const PATH = '/api/v1/prices/BTC/stream';

const eventOf = (position: number) => (
  `id: ${position}\ndata: {"asset":"BTC","price":6140993501000,"priceUSD":61409.93501,"timestamp":${AT + position * 1_000},"source":"pyth"}\n\n`);

describe('service: the price stream under abuse', () => {
  let models: ReadModels;
  let feed: PriceFeed;
  let streams: PriceStreams;
  let shell: RunningShell;
  before(async () => {
    models = await readModels();
    feed = createPriceFeed({ db: models.db, onError: (error) => { throw error; } });
    streams = createPriceStreams(feed, createPlaces('streams', { streams: 1_000, perAddress: 0 }));
    shell = await startShell({ handlers: { streamPrices: streamPrices.serve({ assets: ['BTC', 'ETH'], priceStreams: streams }) }, limits: { maxConnections: 1_000 } });
    await record(1);
    await record(2);
  });
  after(async () => {
    await shell.stop();
    await feed.close();
    await models.close();
  });

  const record = async (position: number) => {
    await models.insert('prices', { position, published_at_ms: AT + position * 1_000 });
    await models.advance(position + 1);
  };
  const open = () => streams.open();
  const untilOpen = (count: number) => until(`${count} streams are open`, () => open() === count || undefined);
  /** A heartbeat may follow on a slow machine. */
  const untilGot = (wire: Wire, text: string) => until(JSON.stringify(text), () => wire.rest.includes(text) || undefined);

  it('a client that closes its half of the connection is let go, and so is one that goes with a reset', async () => {
    for (const leave of [(wire: Wire) => wire.socket.end(), (wire: Wire) => wire.socket.resetAndDestroy()]) {
      const wire = await Wire.connect(shell.port);
      wire.request('GET', PATH);
      await untilOpen(1);
      leave(wire);
      await untilOpen(0);
      await wire.closed;
    }
  });

  it('an HTTP/1.0 client gets the events bare, until the connection ends', async () => {
    const wire = await Wire.connect(shell.port);
    wire.send(`GET ${PATH} HTTP/1.0\r\n\r\n`);
    await untilGot(wire, eventOf(2));
    const [head, ...body] = wire.rest.split('\r\n\r\n');
    assert.match(head!, /^HTTP\/1\.1 200 OK\r\n/);
    assert.doesNotMatch(head!, /transfer-encoding|content-length/i);
    assert.match(head!, /\r\nConnection: close/);
    assert.deepEqual(body, [`retry: 2000\n\n${eventOf(2)}`]);
    wire.close();
    await untilOpen(0);
  });

  it('a client that takes compressed answers gets each event as it is, at once', async () => {
    const wire = await Wire.connect(shell.port);
    const { headers } = await wire.request('GET', PATH, { headers: { 'Accept-Encoding': 'gzip, br' } }).answer();
    assert.equal(headers['content-encoding'], undefined);
    await untilGot(wire, `${eventOf(2)}\r\n`);
    wire.close();
    await untilOpen(0);
  });

  const ids = ['', ' ', 'x', '-1', '1.5', '1e3', '0x1', '9007199254740992', '9'.repeat(400), 'NaN', '1,2'];
  for (const id of ids) {
    it(`an id that is none is refused, and no stream opened: ${JSON.stringify(id.slice(0, 20))}`, async () => {
      const refused = async (path: string, headers: Record<string, string>) => {
        const { status, body } = await once(shell.port, 'GET', path, { headers });
        return [status, (JSON.parse(body) as { code: string }).code];
      };
      assert.deepEqual(await refused(PATH, { 'Last-Event-ID': id }), [400, 'invalid_request']);
      assert.deepEqual(await refused(`${PATH}?last_event_id=${encodeURIComponent(id)}`, {}), [400, 'invalid_request']);
      assert.equal(open(), 0);
    });
  }

  it('an id of more than all header lines may have is refused with 431', async () => {
    assert.equal((await once(shell.port, 'GET', PATH, { headers: { 'Last-Event-ID': '1'.repeat(20_000) } })).status, 431);
  });

  it('the id in the header comes before the one in the query', async () => {
    for (const [headers, beginning] of [[{}, eventOf(1) + eventOf(2)], [{ 'Last-Event-ID': '1' }, eventOf(2)]] as const) {
      const wire = await Wire.connect(shell.port);
      await wire.request('GET', `${PATH}?last_event_id=0`, { headers }).answer();
      await untilGot(wire, `${eventOf(2)}\r\n`);
      assert.ok(wire.rest.endsWith(`retry: 2000\n\n${beginning}\r\n`), wire.rest);
      wire.close();
    }
    await untilOpen(0);
  });

  it('an asset may be written in any case; one that there is not, and other methods, open nothing', async () => {
    const wire = await Wire.connect(shell.port);
    assert.equal((await wire.request('GET', PATH.replace('BTC', 'bTc')).answer()).status, 200);
    await untilGot(wire, `${eventOf(2)}\r\n`);
    wire.close();
    await untilOpen(0);
    const asked = async (method: string, path: string) => {
      const { status, headers } = await once(shell.port, method, path, method === 'POST' ? { body: '{}' } : {});
      return [status, headers['allow'] ?? ''];
    };
    assert.deepEqual(await asked('GET', PATH.replace('BTC', 'DOGE')), [404, '']);
    assert.deepEqual(await asked('GET', PATH.replace('BTC', '%00')), [404, '']);
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'TRACE']) assert.deepEqual(await asked(method, PATH), [405, 'GET, HEAD, OPTIONS'], method);
    assert.equal(open(), 0);
  });

  it('1,000 clients that come and go leave nothing behind', async () => {
    const answers: WeakRef<ServerResponse>[] = [];
    const answering = (message: unknown): void => { answers.push(new WeakRef((message as { response: ServerResponse }).response)); };
    // It collects all that nothing holds, and takes seconds where a process has much: so it is asked once before and once after.
    const signals = () => queryObjects(AbortSignal, { format: 'count' }) as number;
    const alive = () => answers.filter((answer) => answer.deref() !== undefined).length;
    const end = `${eventOf(2)}\r\n`;
    const comeAndGo = async (count: number) => {
      for (let n = 0; n < count; n += 100) {
        const wires = await Promise.all(Array.from({ length: 100 }, () => Wire.connect(shell.port)));
        for (const wire of wires) wire.request('GET', PATH);
        for (const wire of wires) await untilGot(wire, end);
        for (const wire of wires) wire.close();
        await untilOpen(0);
        await until('the connections are closed', () => shell.app.connections.size === 0 || undefined);
      }
    };
    await comeAndGo(100);
    const before = signals();
    subscribe('http.server.request.start', answering);
    try {
      await comeAndGo(1_000);
    } finally {
      unsubscribe('http.server.request.start', answering);
    }
    const after = signals();
    assert.equal(answers.length, 1_000);
    assert.ok(alive() <= 20 && after <= before + 40, `${alive()} answers; signals: ${before} before, ${after} after`);
  });
});
