/** `/api/v1/ws` over real read models: what a client asks for and gets, how connections end, and clients that mean no good. */
import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { createPlaces } from '../../query/places.js';
import type { StreamOptions, Streams } from '../../query/streams/streams.js';
import { closeServer } from '../../service/http/server.js';
import { BURST_MESSAGES, MAX_MESSAGE_BYTES } from '../../service/http/web-sockets.js';
import { ACCEPT, BINARY, CLOSE, closeIn, frameOf, framesIn, HANDSHAKE, PING, type Written } from '../support/frames.js';
import { outcomesOf } from '../support/projected.js';
import { traderAddress } from '../support/random-commands.js';
import type { RunningShell, ShellOptions } from '../support/shell.js';
import { connectSocket, type SocketClient, type SocketOptions } from '../support/socket-client.js';
import { connectStream } from '../support/stream-client.js';
import { AT, cancel, hash, opened, rest, streamWorld, type StreamWorld } from '../support/stream-world.js';
import { until } from '../support/until.js';
import { once, Wire } from '../support/wire.js';

const PATH = '/api/v1/ws';

describe('service: the WebSocket', () => {
  let world: StreamWorld;
  let streams: Streams;
  let shell: RunningShell;
  let stop: () => Promise<void>;
  const clients: { leave(): void }[] = [];

  before(async () => { world = await streamWorld(); });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.leave();
    await stop();
  });
  after(() => world.close());

  const start = async (options: Partial<StreamOptions> = {}, more: Omit<ShellOptions, 'handlers'> = {}) => {
    ({ streams, shell, stop } = await world.serve(options, more));
  };
  const open = async (options: Partial<SocketOptions> = {}): Promise<SocketClient> => {
    const client = await connectSocket({ port: shell.port, ...options });
    clients.push(client);
    return client;
  };
  /** A bare client whose handshake is done. */
  const wire = async (headers: Record<string, string> = {}): Promise<Wire> => {
    const bare = await Wire.connect(shell.port);
    clients.push({ leave: () => { bare.close(); } });
    const { status, headers: answered } = await bare.request('GET', PATH, { headers: { ...HANDSHAKE, ...headers } }).answer();
    assert.deepEqual([status, answered['sec-websocket-accept'], answered['sec-websocket-extensions']], [101, ACCEPT, undefined]);
    return bare;
  };
  const closeOf = async (bare: Wire) => {
    await bare.closed;
    const last = framesIn(bare.unread).at(-1);
    assert.equal(last?.opcode, CLOSE);
    return closeIn(last);
  };
  const untilOpen = (count: number) => until(`${count} streams are open`, () => streams.open() === count || undefined);
  const messages = (client: SocketClient) => client.data.map((text) => JSON.parse(text) as Record<string, unknown>);
  /** A market with a book. */
  const story = async (n: number) => {
    const [market, from] = [hash(n), world.length()];
    await world.append(...outcomesOf(AT, [opened(market)], rest(from + 1, market, 100), rest(from + 2, market, 50)));
    await world.caughtUp();
    return { market, from };
  };

  it('begins with a snapshot, and sends each change until the client has enough', async () => {
    await start();
    const { market, from } = await story(0xaa);
    const client = await open();
    client.ask({ type: 'subscribe', channels: [`book:${market.toUpperCase().replace('0X', '0x')}`, `trades:${market}`] });
    await client.until(() => client.lastId() === String(from + 2));
    await world.append(...outcomesOf(AT, cancel(from + 1, market, 100)));
    await client.until(() => client.data.length === 2);
    client.ask({ type: 'unsubscribe', channels: [`book:${market}`] });
    await client.until(() => client.answers.length === 2);
    await world.append(...outcomesOf(AT, cancel(from + 2, market, 50)));
    client.ask({ type: 'subscribe', channels: [`book:${market}`] });
    await client.until(() => client.data.length === 3);
    assert.deepEqual(client.answers, [
      { type: 'subscribed', channels: [`book:${market}`, `trades:${market}`], position: from + 2 },
      { type: 'unsubscribed', channels: [`book:${market}`] },
      { type: 'subscribed', channels: [`book:${market}`], position: from + 4 },
    ]);
    const empty = { bids: [], asks: [] };
    assert.deepEqual(messages(client), [
      {
        channel: `book:${market}`, position: from + 2, previous: from + 2, type: 'snapshot', at: AT + 2_000,
        yes: { bids: [{ price: 500_000, size: 150 }], asks: [] }, no: empty,
      },
      {
        channel: `book:${market}`, position: from + 3, previous: from + 2, type: 'change', at: AT, levels: [{ outcome: 0, side: 0, price: 500_000, size: 50 }],
      },
      { channel: `book:${market}`, position: from + 4, previous: from + 4, type: 'snapshot', at: AT, yes: empty, no: empty },
    ]);
  });

  it('goes on after a position, or from the beginning, each request from its own', async () => {
    await start();
    const { market, from } = await story(0xab);
    const all = await open();
    all.ask({ type: 'subscribe', channels: ['markets', `book:${market}`], from: -1 });
    await all.until(() => all.lastId() === String(world.length() - 1));
    const client = await open();
    client.ask({ type: 'subscribe', channels: [`book:${market}`], from: from + 1 });
    client.ask({ type: 'subscribe', channels: ['markets'], from: -1 });
    await client.until(() => client.answers.length === 2 && client.isAtPresent());
    assert.deepEqual(client.answers.map(({ position }) => position), [from + 1, -1]);
    const of = (told: readonly string[], name: string, after: number) => told.filter((text) => {
      const { channel, position } = JSON.parse(text) as { channel: string; position: number };
      return channel === name && position > after;
    });
    for (const [name, after] of [['markets', -1], [`book:${market}`, from + 1]] as const) {
      assert.ok(of(all.data, name, after).length > 0);
      assert.deepEqual(of(client.data, name, -1).map(withoutMore), of(all.data, name, after).map(withoutMore));
    }
    // Once both are at the present, all messages come in the order of the history, those of a position together.
    const before = client.data.length;
    await world.append(...outcomesOf(AT, [opened(hash(0x1ab)), ...rest(world.length(), market, 10)], cancel(from + 1, market, 100)));
    await client.until(() => client.data.length === before + 3);
    assert.deepEqual(messages(client).slice(before).map(({ channel, position, more }) => [channel, position, more]), [
      ['markets', world.length() - 2, true], [`book:${market}`, world.length() - 2, undefined], [`book:${market}`, world.length() - 1, undefined],
    ]);
  });

  it('sends what is at the present while histories wait for the log, two at a time, and no heartbeat until their end', async () => {
    const { log } = world;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => { release = resolve; });
    await start({ log: { ...log, read: (...asked) => gate.then(() => log.read(...asked)) } });
    const client = await open();
    client.ask({ type: 'subscribe', channels: ['markets'] });
    await client.until(() => client.isAtPresent());
    for (const kind of ['book', 'trades', 'orders']) {
      client.ask({ type: 'subscribe', channels: [`${kind}:${kind === 'orders' ? traderAddress(1) : hash(0xaa)}`], from: 0 });
    }
    await client.until(() => client.answers.length === 3);
    for (let n = 0; n < 2; n++) {
      world.beats.ring();
      await world.append(...outcomesOf(AT, [opened(hash(0x2aa + n))]));
      await client.until(() => client.data.length === n + 1);
    }
    assert.deepEqual([client.isAtPresent(), client.answers.length, messages(client).map(({ channel }) => channel)], [false, 3, ['markets', 'markets']]);
    release();
    await client.until(() => client.answers.length === 4 && client.isAtPresent());
    assert.ok(client.data.length > 2);
  });

  it('leaves a history in its middle', async () => {
    await start();
    await world.append(...outcomesOf(AT, ...Array.from({ length: 1_000 }, (_, n) => [opened(hash(0x20_000 + n))])));
    const client = await open();
    client.ask({ type: 'subscribe', channels: ['markets', 'prices:BTC'], from: -1 });
    client.ask({ type: 'unsubscribe', channels: ['markets'] });
    client.ask({ type: 'unsubscribe', channels: ['prices:BTC'] });
    await client.until(() => client.answers.length === 3);
    const { length } = client.data;
    client.ask({ type: 'subscribe', channels: ['prices:ETH'] });
    await client.until(() => client.answers.length === 4 && client.isAtPresent());
    assert.deepEqual([client.data.length, client.answers.map(({ type }) => type)], [length, ['subscribed', 'unsubscribed', 'unsubscribed', 'subscribed']]);
  });

  const unknown = hash(0xeeee);
  const many = Array.from({ length: 51 }, (_, n) => `orders:${traderAddress(n)}`);
  const subscribe = (more: object) => JSON.stringify({ type: 'subscribe', channels: ['markets'], ...more });
  const refusals: readonly (readonly [what: string, message: string | Buffer, code: string, text?: RegExp])[] = [
    ['no JSON', '{"type":', 'invalid_json', /^what was sent is not a JSON object/], ['an empty text', '', 'invalid_json'], ['a list', '[]', 'invalid_json'], ['null', 'null', 'invalid_json'],
    ['a deep nesting', '['.repeat(8_000), 'invalid_json'], ['bytes', Buffer.from(subscribe({})), 'invalid_request', /text, not bytes/],
    ['no type', '{}', 'invalid_request', /\/type is subscribe or unsubscribe/], ['another type', '{"type":"order"}', 'invalid_request', /\/type is subscribe/],
    ['a type that every object has', '{"type":"constructor"}', 'invalid_request', /\/type is subscribe/],
    ['no channels', '{"type":"subscribe"}', 'invalid_request', /channels/], ['an empty list', subscribe({ channels: [] }), 'invalid_request', /at least one/],
    ['channels as a text', subscribe({ channels: 'markets' }), 'invalid_request', /list of texts/],
    ['a channel that is no text', subscribe({ channels: [1] }), 'invalid_request', /list of texts/],
    ['a channel that there is not', subscribe({ channels: ['books:1'] }), 'invalid_request', /which is not a channel/],
    ['a market that is none', subscribe({ channels: ['markets', 'book:0x12'] }), 'invalid_market_id', /\/channels has "book:0x12": .* 64 hex digits$/],
    ['an address that is none', subscribe({ channels: ['orders:1'] }), 'invalid_address', /\/channels has "orders:1": .* 40 hex digits$/],
    ['an asset that is none', subscribe({ channels: ['prices:B/C'] }), 'unknown_asset'],
    ['a market that there is not', subscribe({ channels: ['markets', `book:${unknown}`] }), 'unknown_market'],
    ['an asset without prices', subscribe({ channels: ['prices:DOGE'] }), 'unknown_asset'], ['51 channels', subscribe({ channels: many }), 'invalid_request', /at most 50/],
    ['a position as a text', subscribe({ from: '1' }), 'invalid_request', /\/from is -1/], ['a negative position', subscribe({ from: -2 }), 'invalid_request', /\/from is -1/],
    ['a fraction', subscribe({ from: 1.5 }), 'invalid_request', /\/from is -1/],
    ['a position beyond 2^53', '{"type":"subscribe","channels":["markets"],"from":9007199254740993}', 'invalid_request', /\/from is -1/],
    ['a position to come', subscribe({ from: 1_000_000_000 }), 'not_recorded_yet'], ['another field', subscribe({ id: 7 }), 'invalid_request', /\/id is not known here/],
    ['a position to leave at', '{"type":"unsubscribe","channels":["prices:BTC"],"from":1}', 'invalid_request', /\/from is not known here/],
    ['to leave what it has not', '{"type":"unsubscribe","channels":["prices:BTC","markets"]}', 'not_subscribed', /^markets is not/],
    ['a channel again', subscribe({ channels: ['markets', 'prices:BTC'] }), 'already_subscribed', /^prices:BTC is/],
    ['more than 50 together', subscribe({ channels: many.slice(1) }), 'invalid_request', /at most 50 .* not 51/],
  ];
  it('answers each request that cannot be carried out with its error, and goes on as before', async () => {
    await start();
    const client = await open();
    client.ask({ type: 'subscribe', channels: ['prices:BTC'] });
    for (const [, message] of refusals) client.socket.send(message);
    client.ask({ type: 'subscribe', channels: ['markets'] });
    await client.until(() => client.answers.length === refusals.length + 2);
    for (const [i, [what, , code, text = /./]] of refusals.entries()) {
      const { type, code: told, error } = client.answers[i + 1]!;
      assert.deepEqual([type, told], ['error', code], what);
      assert.match(String(error), text, what);
    }
    assert.deepEqual(client.answers.at(-1), { type: 'subscribed', channels: ['markets'], position: world.length() - 1 });
    assert.deepEqual([shell.failures, streams.open()], [[], 1]);
  });

  it('takes 50 channels, and a channel twice in a request as one', async () => {
    await start();
    const client = await open();
    client.ask({ type: 'subscribe', channels: [...many.slice(1), many[1]!.toUpperCase().replace('ORDERS:0X', 'orders:0x')] });
    await client.until(() => client.answers.length === 1);
    assert.deepEqual(client.answers[0]!['channels'], many.slice(1));
  });

  describe('closes with a code and a reason', () => {
    const faults: readonly (readonly [what: string, payload: string | Buffer, written: Written, code: number, reason: RegExp])[] = [
      ['a message that is too large', 'x'.repeat(MAX_MESSAGE_BYTES + 1), {}, 1009, /^body_too_large: a message has at most 8192 bytes$/],
      ['the head of one of a terabyte', '', { length: 2n ** 40n }, 1009, /^body_too_large/],
      ['a length beyond 2^53', '', { length: 2n ** 60n }, 1009, /^body_too_large/],
      ['a frame without a mask', '{}', { masked: false }, 1002, /^invalid_request: .*RFC 6455/],
      ['a compressed frame, when no compression was agreed', Buffer.from('4a4c44000000ffff', 'hex'), { first: 0xc1 }, 1002, /RFC 6455/],
      ['an opcode that there is not', '{}', { first: 0x83 }, 1002, /RFC 6455/], ['a continuation of nothing', '{}', { first: 0x80 }, 1002, /RFC 6455/],
      ['a ping in fragments', '', { first: PING }, 1002, /RFC 6455/], ['a ping of 126 bytes', Buffer.alloc(126), { opcode: PING }, 1002, /RFC 6455/],
      ['a text that is not UTF-8', Buffer.from([0xff, 0xfe]), {}, 1007, /UTF-8/],
    ];
    for (const [what, payload, written, code, reason] of faults) {
      it(`after ${what}`, async () => {
        await start();
        const bare = await wire({ 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' });
        bare.send(frameOf(payload, written));
        const [told, why] = await closeOf(bare);
        assert.equal(told, code);
        assert.match(why, reason);
        await untilOpen(0);
        assert.deepEqual(shell.failures, []);
      });
    }

    it('after fragments that together are too large', async () => {
      await start();
      const bare = await wire();
      bare.send(frameOf('x'.repeat(5_000), { first: 0x01 })).send(frameOf('x'.repeat(5_000), { first: 0x80 }));
      assert.equal((await closeOf(bare))[0], 1009);
    });

    it('after thousands of messages at once, and after thousands of pings', async () => {
      await start();
      for (const [opcode, answered] of [[1, BURST_MESSAGES], [BINARY, BURST_MESSAGES], [PING, 0]] as const) {
        const bare = await wire();
        bare.send(Buffer.concat(Array.from({ length: 5_000 }, () => frameOf('{}', { opcode }))));
        await bare.closed;
        const frames = framesIn(bare.unread).filter(({ opcode: of }) => of === 1 || of === CLOSE);
        assert.deepEqual(closeIn(frames.pop()!), [1008, `rate_limited: at most ${BURST_MESSAGES} messages at once and 10 a second`]);
        const last = JSON.parse(frames.pop()!.payload.toString()) as object;
        assert.deepEqual(last, { type: 'error', code: 'rate_limited', error: `at most ${BURST_MESSAGES} messages at once and 10 a second` });
        assert.ok(frames.length <= answered);
        await untilOpen(0);
      }
    });

    it('when the service stops, with 1012, whether something is subscribed to or not', async () => {
      await start();
      const [idle, busy] = [await open(), await open()];
      busy.ask({ type: 'subscribe', channels: ['markets'] });
      await busy.until(() => busy.lastId() === String(world.length() - 1));
      assert.equal(await closeServer(shell.app, shell.server, 60_000), 0);
      for (const client of [idle, busy]) {
        assert.deepEqual(await client.closed, [1012, 'unavailable: the service is stopping; connect again, with the last position']);
        assert.equal(client.answers.at(-1)?.['code'], 'unavailable');
      }
      assert.equal(streams.open(), 0);
    });
  });

  it('pings, and cuts off who is gone without a word', async () => {
    await start();
    const [alive, dead] = [await open(), await open({ autoPong: false })];
    for (let n = 0; n < 6; n++) {
      const pinged = event(alive.socket, 'ping');
      world.pings.ring();
      await pinged;
      alive.ask({ type: 'unsubscribe', channels: ['markets'] });
      await alive.until(() => alive.answers.length === n + 1);
    }
    assert.equal((await dead.closed)[0], 1006);
    assert.equal(alive.socket.readyState, alive.socket.OPEN);
    await untilOpen(1);
  });

  it('lets a client go that says so, closes its half, or resets the connection', async () => {
    await start();
    for (const leave of [
      (bare: Wire) => bare.send(frameOf(Buffer.from([0x03, 0xe8]), { opcode: CLOSE })), (bare: Wire) => bare.socket.end(),
      (bare: Wire) => bare.socket.resetAndDestroy(), (bare: Wire) => bare.send(frameOf('half').subarray(0, 3)).socket.end(),
    ]) {
      const bare = await wire();
      bare.send(frameOf('{"type":"subscribe","channels":["markets"]}'));
      await until('it is subscribed', () => framesIn(bare.unread).length > 0 || undefined);
      leave(bare);
      await untilOpen(0);
      await bare.closed;
    }
    assert.deepEqual(shell.failures, []);
  });

  it('takes what is sent together with the handshake', async () => {
    await start();
    const bare = await Wire.connect(shell.port);
    clients.push({ leave: () => { bare.close(); } });
    const lines = Object.entries({ Host: 'test', ...HANDSHAKE }).map(([name, value]) => `${name}: ${value}\r\n`).join('');
    bare.send(Buffer.concat([Buffer.from(`GET ${PATH} HTTP/1.1\r\n${lines}\r\n`), frameOf('{"type":"subscribe","channels":["markets"]}')]));
    assert.equal((await bare.answer()).status, 101);
    await until('it is subscribed', () => framesIn(bare.unread)[0]?.payload.toString().startsWith('{"type":"subscribed"') || undefined);
  });

  it('has places together with the streams of events, and takes none from other requests', async () => {
    await start({ places: createPlaces('streams', { streams: 3, perAddress: 2 }) }, { limits: { maxConnectionsPerAddress: 2 } });
    const refused = (from: string) => assert.rejects(connectSocket({ port: shell.port, localAddress: from }), /Unexpected server response/);
    const stream = await connectStream({ port: shell.port, query: 'channels=markets' });
    clients.push(stream);
    const client = await open();
    await refused('127.0.0.1');
    const bare = await Wire.connect(shell.port);
    const { status, headers, body } = await bare.request('GET', PATH, { headers: HANDSHAKE }).answer();
    assert.deepEqual([status, headers['retry-after'], (JSON.parse(body) as { code: string }).code], [429, '5', 'too_many_streams']);
    await bare.closed;
    await open({ localAddress: '127.0.0.2' });
    await refused('127.0.0.3');
    await until('those that were refused are gone', () => shell.app.connections.size === 3 || undefined);
    // Both of the address's connections are streams, and do not count.
    const [one, two] = [await Wire.connect(shell.port), await Wire.connect(shell.port)];
    for (const each of [one, two]) assert.equal((await each.request('GET', '/api/v1/markets').answer()).status, 200);
    one.close();
    two.close();
    client.leave();
    await untilOpen(2);
    await open();
  });

  it('answers a page of any origin', async () => {
    await start();
    const client = await open({ origin: 'https://elsewhere.example' });
    client.ask({ type: 'subscribe', channels: ['markets'] });
    await client.until(() => client.answers.length === 1);
    assert.equal((await once(shell.port, 'GET', PATH, { headers: { Origin: 'https://elsewhere.example' } })).headers['access-control-allow-origin'], '*');
  });

  it('leaves nothing behind of clients that come and go', async () => {
    await start({ places: createPlaces('streams', { streams: 1_000, perAddress: 0 }) });
    for (let round = 0; round < 5; round++) {
      const here = await Promise.all(Array.from({ length: 50 }, () => open()));
      for (const [i, client] of here.entries()) client.ask({ type: 'subscribe', channels: ['markets'], ...i % 2 === 0 && { from: -1 } });
      for (const client of here) await client.until(() => client.answers.length === 1);
      for (const [i, client] of here.entries()) if (i % 3 === 0) client.socket.close(); else client.leave();
      await untilOpen(0);
      await until('the connections are closed', () => shell.app.connections.size === 0 || undefined);
    }
    assert.deepEqual(shell.failures, []);
  });

  describe('with clients that do not read', () => {
    it('cuts off who does not read, with a reason, and nobody else, and the rest is to be had', async () => {
      await start({ room: { bytes: 2_000_000, pieces: 1_000 }, stallMs: 300_000 });
      const [reading, deaf] = [await open(), await open()];
      for (const client of [reading, deaf]) {
        client.ask({ type: 'subscribe', channels: ['markets'], from: world.length() - 1 });
        await client.until(() => client.lastId() === String(world.length() - 1));
      }
      deaf.socket.pause();
      for (let n = 0; streams.cutOff() === 0; n++) {
        assert.ok(n < 200, 'it was never cut off');
        await world.append(...outcomesOf(AT, [opened(hash(0x1000 + n), 'x'.repeat(400_000))]));
        await reading.until(() => reading.lastId() === String(world.length() - 1));
      }
      deaf.socket.resume();
      const text = 'more waits to be read than the exchange keeps for one reader; connect again, with the last position';
      assert.deepEqual(await deaf.closed, [1008, `too_slow: ${text}`]);
      assert.deepEqual(deaf.answers.at(-1), { type: 'error', code: 'too_slow', error: text });
      assert.deepEqual([streams.open(), streams.cutOff(), reading.socket.readyState], [1, 1, reading.socket.OPEN]);
      const again = await open();
      again.ask({ type: 'subscribe', channels: ['markets'], from: Number(deaf.lastId()) });
      await again.until(() => again.lastId() === String(world.length() - 1));
      assert.deepEqual(deaf.data.concat(again.data), reading.data);
    });

    it('ends their connections at once when the service stops', async () => {
      await start();
      const bare = await wire();
      const [connection] = shell.app.connections;
      bare.socket.pause();
      bare.send(frameOf('{"type":"subscribe","channels":["markets"],"from":-1}'));
      for (let n = 0; n < 40; n++) await world.append(...outcomesOf(AT, [opened(hash(0xf100 + n), 'x'.repeat(900_000))]));
      await until('more waits than the connection takes', () => connection!.writableNeedDrain || undefined);
      assert.equal(await closeServer(shell.app, shell.server, 60_000), 0);
      await untilOpen(0);
    });
  });
});

function withoutMore(text: string): string {
  return text.replace(/,"more":true\}$/, '}');
}
