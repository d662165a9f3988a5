/** Requests with `Upgrade`: those for a WebSocket are answered by the application, and all others as if the header were not there. */
import assert from 'node:assert/strict';
import { HANDSHAKE } from '../support/frames.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { until } from '../support/until.js';
import { Wire } from '../support/wire.js';

/** As Java's HttpClient has it in its first requests to a server. */
const H2C = { 'Connection': 'Upgrade, HTTP2-Settings', 'Upgrade': 'h2c', 'HTTP2-Settings': 'AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA' };
const PATH = '/api/v1/ws';
const codeOf = (body: string) => (JSON.parse(body) as { code: string }).code;

describe('service: requests with Upgrade', () => {
  let shell: RunningShell;
  const wires: Wire[] = [];
  before(async () => { shell = await startShell(); });
  afterEach(() => { for (const wire of wires.splice(0)) wire.close(); });
  after(() => shell.stop());

  const connect = async (): Promise<Wire> => {
    const wire = await Wire.connect(shell.port);
    wires.push(wire);
    return wire;
  };
  const head = (lines: Record<string, string>, method = 'POST', path = '/api/v1/orders') => (
    `${method} ${path} HTTP/1.1\r\n${Object.entries({ Host: 'test', ...lines }).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  const json = { ...H2C, 'Content-Type': 'application/json' };
  const takes = async (wire: Wire, bytes: number) => { assert.deepEqual(await wire.answer().then(({ status, body }) => [status, body]), [200, `{"bytes":${bytes}}`]); };

  it('answers a POST for HTTP/2 as any POST, and the next ones on the same connection', async () => {
    const wire = await connect();
    for (let n = 0; n < 3; n++) {
      wire.request('POST', '/api/v1/orders', { headers: H2C, body: '{"a":1}' });
      await takes(wire, 7);
    }
    assert.equal((await wire.request('GET', '/api/v1/markets', { headers: H2C }).answer()).status, 200);
    await takes(wire.request('POST', '/api/v1/orders', { body: '{}' }), 2);
  });

  it('reads a body that comes in pieces, before and after the rest of the head', async () => {
    const wire = await connect();
    const request = head({ ...json, 'Content-Length': '7' }) + '{"a":1}';
    for (const cut of [10, request.length - 9, request.length - 7, request.length - 3]) {
      wire.send(request.slice(0, cut));
      await until('the first piece has come', () => shell.app.connections.size > 0 || undefined);
      await takes(wire.send(request.slice(cut)), 7);
    }
  });

  it('reads a body in chunks, and one that waits for 100 Continue', async () => {
    const wire = await connect();
    wire.send(`${head({ ...json, 'Transfer-Encoding': 'chunked' })}3\r\n{"a\r\n`).send('4\r\n":1}\r\n0\r\n\r\n');
    await takes(wire, 7);
    wire.send(head({ ...json, 'Content-Length': '2', 'Expect': '100-continue' }));
    assert.equal((await wire.answer()).status, 100);
    await takes(wire.send('{}'), 2);
  });

  it('makes no WebSocket of another path, another method or another protocol', async () => {
    const wire = await connect();
    assert.equal((await wire.request('GET', '/api/v1/markets', { headers: HANDSHAKE }).answer()).status, 200);
    assert.equal((await wire.request('POST', PATH, { headers: HANDSHAKE, body: '{}' }).answer()).status, 405);
    for (const headers of [H2C, {}, { ...HANDSHAKE, Connection: 'keep-alive' }]) {
      const { status, headers: answered, body } = await wire.request('GET', PATH, { headers }).answer();
      assert.deepEqual([status, answered['upgrade'], answered['sec-websocket-version'], codeOf(body)], [426, 'websocket', '13', 'upgrade_required']);
    }
    assert.equal((await wire.request('HEAD', PATH).answer({ bodiless: true })).status, 426);
  });

  const refusals: readonly (readonly [what: string, headers: Record<string, string>, status: number, code: string])[] = [
    ['another version', { 'Sec-WebSocket-Version': '8' }, 426, 'upgrade_required'], ['no version', { 'Sec-WebSocket-Version': '' }, 426, 'upgrade_required'],
    ['a key that is none', { 'Sec-WebSocket-Key': 'short' }, 400, 'invalid_request'], ['no key', { 'Sec-WebSocket-Key': '' }, 400, 'invalid_request'],
  ];
  for (const [what, headers, status, code] of refusals) {
    it(`refuses a handshake with ${what} with a problem, and ends the connection`, async () => {
      const wire = await connect();
      const answer = await wire.request('GET', PATH, { headers: { ...HANDSHAKE, ...headers } }).answer();
      assert.deepEqual([answer.status, codeOf(answer.body), answer.headers['content-type']], [status, code, 'application/problem+json; charset=utf-8']);
      await wire.closed;
    });
  }

  it('refuses what has two Host lines, as any request', async () => {
    const wire = await connect();
    const answer = await wire.send(head({ ...HANDSHAKE, host: 'another' }, 'GET', PATH)).answer();
    assert.deepEqual([answer.status, codeOf(answer.body)], [400, 'invalid_request']);
    await wire.closed;
  });

  it('ends a connection on which a WebSocket is asked for before an answer has come, and no other', async () => {
    const other = await connect();
    const gates: (() => void)[] = [];
    const slow = await startShell({ handlers: { cancelOrder: () => new Promise((resolve) => { gates.push(() => { resolve({ body: '{}' }); }); }) } });
    try {
      const wire = await Wire.connect(slow.port);
      wires.push(wire);
      wire.send(head({}, 'DELETE', `/api/v1/orders/0x${'00'.repeat(32)}`) + head(HANDSHAKE, 'GET', PATH));
      await wire.closed;
      for (const open of gates) open();
      assert.deepEqual(slow.failures, []);
    } finally {
      await slow.stop();
    }
    assert.equal((await other.request('GET', '/api/v1/markets').answer()).status, 200);
  });

  it('outlives clients that go in the middle of a handshake', async () => {
    for (let n = 0; n < 20; n++) {
      const wire = await connect();
      wire.send(head({ ...HANDSHAKE, 'Sec-WebSocket-Version': '8' }, 'GET', PATH));
      wire.socket.resetAndDestroy();
      await wire.closed;
    }
    await until('the connections are closed', () => shell.app.connections.size === 0 || undefined);
    assert.deepEqual(shell.failures, []);
  });
});
