/** The HTTP shell over a real socket: paths, methods, headers, errors, connections. */
import assert from 'node:assert/strict';
import { EventEmitter, once as event } from 'node:events';
import { RequestError } from '../../engine/records/errors.js';
import { createLimiters } from '../../service/http/limits.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once, Wire } from '../support/wire.js';

const MARKET = `0x${'4d'.repeat(32)}`;
const problem = (body: string) => JSON.parse(body) as { code: string; status: number; errors?: { field: string }[] };

describe('service: HTTP shell', () => {
  let shell: RunningShell;
  before(async () => { shell = await startShell(); });
  after(() => shell.stop());

  it('answers with the handler\'s text, its log position, and the headers of every answer', async () => {
    const { status, headers, body } = await once(shell.port, 'GET', `/api/v1/orderbook/${MARKET.toUpperCase().replace('0X', '0x')}?outcome=NO`);
    assert.deepEqual(JSON.parse(body), { name: 'getOrderbook', asked: { marketId: MARKET, outcome: 1 } });
    const { date, ...rest } = headers;
    assert.ok(date);
    assert.deepEqual({ status, ...rest }, {
      'status': 200,
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'X-Log-Position, Idempotent-Replayed, X-Error-Code, ETag, RateLimit, RateLimit-Policy, Retry-After, Allow, WWW-Authenticate',
      'content-security-policy': 'default-src \'none\';frame-ancestors \'none\'',
      'cross-origin-resource-policy': 'cross-origin',
      'referrer-policy': 'no-referrer',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(body.length),
      'x-log-position': '7',
      'connection': 'keep-alive',
      'keep-alive': 'timeout=5',
    });
  });

  it('answers HEAD like GET without the body', async () => {
    const wire = await Wire.connect(shell.port);
    const head = await wire.request('HEAD', '/api/v1/config').answer({ bodiless: true });
    const get = await wire.request('GET', '/api/v1/config').answer();
    assert.deepEqual([head.status, head.headers['content-length']], [200, String(get.body.length)]);
    assert.equal(wire.rest, '');
    wire.close();
  });

  it('answers 405 with Allow to a wrong method and 404 to an unknown path, both as problems', async () => {
    const wrong = await once(shell.port, 'PUT', '/api/v1/orders');
    assert.deepEqual([wrong.status, wrong.headers['allow'], problem(wrong.body).code], [405, 'POST, GET, HEAD, OPTIONS', 'method_not_allowed']);
    assert.equal((await once(shell.port, 'DELETE', '/api/v1/markets')).headers['allow'], 'GET, HEAD, OPTIONS');
    for (const path of ['/', '/api/v1/nothing', '/api/v1/orders/', '/API/v1/orders', '/api/v1/../v1/markets', '//api/v1/markets', '/docs/nothing', '/%zz',
      '/docs/../package.json', '/docs/%2e%2e/package.json', '/docs/..%2fpackage.json', '/docs/package.json', 'http://[::bad/x']) {
      const { status, headers, body } = await once(shell.port, 'GET', path);
      assert.equal(status, 404, path);
      assert.deepEqual([headers['content-type'], problem(body).code], ['application/problem+json; charset=utf-8', 'not_found'], path);
    }
    assert.equal((await once(shell.port, 'POST', '/docs/')).status, 404);
  });

  it('answers preflights of any origin', async () => {
    const { status, headers, body } = await once(shell.port, 'OPTIONS', '/api/v1/orders', { headers: { 'Origin': 'https://app.example', 'Access-Control-Request-Method': 'POST' } });
    assert.deepEqual([status, body, headers['access-control-allow-origin'], headers['access-control-allow-methods'], headers['access-control-allow-headers']],
      [204, '', '*', 'POST, GET, HEAD, OPTIONS', 'Content-Type, Authorization, If-None-Match, Last-Event-ID, X-Min-Log-Position, X-Cancel-Signature, X-Cancel-Deadline']);
    assert.equal((await once(shell.port, 'OPTIONS', '/api/v1/nothing')).status, 404);
  });

  it('refuses bad parameters as the problem of their kind', async () => {
    const cases: [path: string, code: string, field?: string][] = [
      ['/api/v1/orders/%E0%A4%A', 'invalid_request'],
      ['/api/v1/orders/0x12', 'invalid_order_hash', '/hash'],
      ['/api/v1/orders', 'invalid_request', '/trader'],
      [`/api/v1/orders?trader=${MARKET}`, 'invalid_address', '/trader'],
      ['/api/v1/markets?chain_id=1&chain_id=2', 'invalid_request', '/chain_id'],
      ['/api/v1/markets?__proto__=1&chain_id=x', 'invalid_chain_id', '/chain_id'],
      ['/api/v1/markets?__proto__=1&chain_id=1', 'invalid_request', '/__proto__'],
      ['/api/v1/events?limit=0', 'invalid_request', '/limit'],
    ];
    for (const [path, code, field] of cases) {
      const { status, body } = await once(shell.port, 'GET', path);
      const answer = problem(body);
      assert.equal(status, 400, path);
      assert.equal(answer.code, code, path);
      assert.deepEqual(answer.errors?.map((each) => each.field), field === undefined ? undefined : [field], path);
    }
  });

  it('says nothing of an unexpected error but an id that the log has', async () => {
    const own = await startShell({ handlers: { cancelOrder: () => { throw new TypeError('secret inside'); } } });
    const { status, body } = await once(own.port, 'DELETE', `/api/v1/orders/${MARKET}`);
    assert.equal(status, 500);
    assert.deepEqual(JSON.parse(body), {
      type: '/openapi.json#/components/responses/internal', title: 'an unexpected error; it has been logged', status: 500, instance: 'failure-1',
      error: 'an unexpected error; it has been logged', code: 'internal',
    });
    assert.deepEqual(own.failures.map(String), ['TypeError: secret inside']);
    await own.stop();
  });

  it('does not let a handler\'s value break out of its header', async () => {
    const own = await startShell({ handlers: { cancelOrder: () => ({ body: '{}', headers: { 'X-Test': 'a\r\nSet-Cookie: b=c' } }) } });
    const { status, headers, body } = await once(own.port, 'DELETE', `/api/v1/orders/${MARKET}`);
    assert.deepEqual([status, problem(body).code, headers['set-cookie'], headers['x-test']], [500, 'internal', undefined, undefined]);
    await own.stop();
  });

  it('waits for X-Min-Log-Position on reads, refuses a bad one, and passes its failure on', async () => {
    const waited: number[] = [];
    const own = await startShell({ app: { waitForPosition: (position) => {
      waited.push(position);
      return position > 5 ? Promise.reject(new RequestError('not_caught_up', 'it is at 5')) : Promise.resolve();
    } } });
    const read = (position: string) => once(own.port, 'GET', '/api/v1/markets', { headers: { 'X-Min-Log-Position': position } });
    assert.equal((await read('5')).status, 200);
    const late = await read('6');
    assert.deepEqual([late.status, late.headers['retry-after'], problem(late.body).code], [503, '1', 'not_caught_up']);
    assert.equal((await read('-1')).status, 200, 'what a read model without records answers with');
    for (const bad of ['-2', '1.5', 'x', '99999999999999999', '']) assert.equal((await read(bad)).status, 400, bad);
    assert.deepEqual(waited, [5, 6, -1]);
    await own.stop();
  });

  it('aborts the handler\'s signal when the client has gone', async () => {
    const asked = new EventEmitter();
    const own = await startShell({ handlers: { cancelOrder: (_, { signal }) => {
      asked.emit('asked', signal);
      return new Promise(() => undefined);
    } } });
    const wire = await Wire.connect(own.port);
    wire.request('DELETE', `/api/v1/orders/${MARKET}`);
    const [signal] = await event(asked, 'asked') as [AbortSignal];
    assert.equal(signal.aborted, false);
    wire.close();
    await event(signal, 'abort');
    await own.stop();
  });

  it('answers pipelined requests in order and keeps the connection over errors', async () => {
    const wire = await Wire.connect(shell.port);
    wire.request('POST', '/api/v1/orders', { body: '1' }).request('POST', '/api/v1/orders', { body: '22' }).request('GET', '/nothing')
      .request('POST', '/api/v1/orders', { body: '333' });
    const answers = [await wire.answer(), await wire.answer(), await wire.answer(), await wire.answer()];
    assert.deepEqual(answers.map(({ status, body }) => [status, status === 200 ? body : problem(body).code]),
      [[200, '{"bytes":1}'], [200, '{"bytes":2}'], [404, 'not_found'], [200, '{"bytes":3}']]);
    wire.close();
  });

  it('answers what is not HTTP, and heads too large, with a problem and the end of the connection', async () => {
    const cases: [bytes: string, status: number][] = [
      ['nonsense\r\n\r\n', 400], [`GET / HTTP/1.1\r\nHost: test\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
      ['GET / HTTP/1.1\r\nHost: test\r\nBad Header: x\r\n\r\n', 400],
      ['POST /api/v1/orders HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    ];
    for (const [bytes, status] of cases) {
      const wire = await Wire.connect(shell.port);
      const answer = await wire.send(bytes).answer();
      assert.deepEqual([answer.status, problem(answer.body).status, problem(answer.body).code], [status, status, 'invalid_request'], bytes.slice(0, 40));
      await wire.closed;
    }
  });

  it('tells each client its limit and refuses what is beyond it', async () => {
    const own = await startShell({ app: { limiters: createLimiters({ windowS: 60, orders: 2, reads: 0 }) } });
    const place = () => once(own.port, 'POST', '/api/v1/orders', { body: '{}' });
    const first = await place();
    assert.match(first.headers['ratelimit']!, /^"orders"; r=1; t=\d+$/);
    assert.equal(first.headers['ratelimit-policy'], '"orders"; q=2; w=60');
    await place();
    const refused = await place();
    assert.deepEqual([refused.status, problem(refused.body).code], [429, 'rate_limited']);
    assert.match(refused.headers['ratelimit']!, /^"orders"; r=0; t=\d+$/);
    assert.match(refused.headers['retry-after']!, /^[1-9]\d*$/);
    assert.equal((await once(own.port, 'GET', '/api/v1/markets')).headers['ratelimit'], undefined);
    await own.stop();
  });

  it('counts a batch as its orders, and refuses one that is larger than what is left, without counting the rest of it', async () => {
    const own = await startShell({ app: { limiters: createLimiters({ windowS: 60, orders: 5, reads: 0 }) } });
    const place = (orders: number) => once(own.port, 'POST', '/api/v1/orders/batch', { body: JSON.stringify({ orders: Array.from({ length: orders }, () => ({})) }) });
    const first = await place(3);
    assert.match(first.headers['ratelimit'] ?? '', /^"orders"; r=2; t=\d+$/);
    const refused = await place(3);
    assert.deepEqual([refused.status, problem(refused.body).code], [429, 'rate_limited']);
    assert.notEqual((await place(1)).status, 429);
    assert.equal((await place(1)).status, 429);
    await own.stop();
  });

  it('believes X-Forwarded-For only as far as there are proxies of ours', async () => {
    for (const [trustProxy, expected] of [[0, 429], [1, 200]]) {
      const limiters = createLimiters({ windowS: 60, orders: 1, reads: 0 });
      const own = await startShell({ app: { trustProxy: trustProxy!, limiters } });
      const place = (client: string) => once(own.port, 'POST', '/api/v1/orders', { headers: { 'X-Forwarded-For': client }, body: '{}' });
      await place('198.51.100.1');
      assert.equal((await place('198.51.100.2')).status, expected);
      assert.equal((await place('203.0.113.9, 198.51.100.2')).status, 429);
      await own.stop();
    }
  });

  it('shows the documentation page with all that it loads', async () => {
    const redirect = await once(shell.port, 'GET', '/docs');
    assert.deepEqual([redirect.status, redirect.headers['location']], [308, '/docs/']);
    const page = await once(shell.port, 'GET', '/docs/');
    assert.equal(page.status, 200);
    const policy = page.headers['content-security-policy']!;
    assert.match(policy, /script-src 'self';/);
    assert.doesNotMatch(policy, /upgrade-insecure-requests/);
    assert.doesNotMatch(page.body, /<script(?![^>]* src=)/, 'an inline script would be blocked');
    const loaded = [...page.body.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, name]) => `/docs/${name!}`);
    assert.ok(loaded.length >= 4);
    for (const path of loaded) assert.equal((await once(shell.port, 'GET', path)).status, 200, path);
    assert.match((await once(shell.port, 'GET', '/docs/swagger-ui-init.js')).body, /"url": "\/openapi\.json"/);
  });
});
