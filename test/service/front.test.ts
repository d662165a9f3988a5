/** The front over real HTTP servers that play the roles' processes: who gets a request, what passes through, what a failure is called. */
import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { createServer as createHttpServer, get, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSocketServer, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createServer, listen } from '../../service/http/server.js';
import { createMetrics } from '../../service/metrics.js';
import type { RoleName } from '../../service/roles/role-names.js';
import { createFront, type Front, type FrontOptions } from '../../service/supervision/front.js';
import { once, Wire, type WireAnswer } from '../support/wire.js';

const HASH = `0x${'ab'.repeat(32)}`;
const ORDERS = '/api/v1/orders';
const servers: Server[] = [];

/** What a process got, as it tells in its answer. */
interface Got {
  readonly process: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: number;
  /** The front's end of the connection: the same for two requests on one connection. */
  readonly connection: number;
}

describe('service: the front', () => {
  afterEach(async () => {
    for (const server of servers.splice(0)) await new Promise((resolve) => { server.close(resolve).closeAllConnections(); });
  });

  describe('sends a request to a process of its role', () => {
    const cases: [method: string, path: string, role: RoleName][] = [
      ['POST', ORDERS, 'api'], ['DELETE', `${ORDERS}/${HASH}`, 'api'], ['POST', '/api/v1/positions/rain/sync', 'api'],
      ['OPTIONS', '/api/v1/positions/rain/sync', 'api'],
      ['GET', `${ORDERS}?trader=0x1`, 'query'], ['HEAD', ORDERS, 'query'], ['GET', `${ORDERS}/${HASH}`, 'api'], ['OPTIONS', '/api/v1/markets', 'query'],
      ['GET', '/docs', 'query'], ['GET', '/docs/swagger-ui.css', 'query'], ['GET', '/openapi.json', 'query'],
      ['GET', '/', 'query'], ['POST', '/unknown/path', 'query'], ['GET', '/health', 'query'], ['GET', '/health/live/', 'query'],
    ];
    for (const [method, path, role] of cases) {
      it(`${method} ${path}: ${role}`, async () => {
        const front = await startFront({ api: [await startProcess('api')], query: [await startProcess('query')] });
        const answer = await once(front, method, path);
        assert.deepEqual([answer.status, answer.headers['x-process'], answer.headers['x-asked']], [200, role, `${method} ${path}`]);
        if (method !== 'HEAD') assert.equal(gotIn(answer).url, path);
      });
    }
  });

  describe('answers itself', () => {
    it('health and metrics, with the readiness of the whole stack', async () => {
      const front = await startFront({ query: [await startProcess('query')] }, { readiness: async () => ({ status: 503, body: '{"ready":false}' }) });
      const live = await once(front, 'GET', '/health/live?x=1');
      assert.deepEqual([live.status, live.body], [200, '{"live":true}']);
      const ready = await once(front, 'GET', '/health/ready');
      assert.deepEqual([ready.status, ready.body], [503, '{"ready":false}']);
      const metrics = await once(front, 'GET', '/metrics');
      assert.match(metrics.body, /^exchange_http_request_seconds_count\{route="getLiveness"/m);
      for (const { headers } of [live, ready, metrics]) assert.equal(headers['x-process'], undefined);
    });

    it('404 for metrics that have a port of their own: those of a process are not for clients', async () => {
      const front = await startFront({ query: [await startProcess('query')] }, { showsMetrics: false });
      const answer = await once(front, 'GET', '/metrics');
      assert.deepEqual([answer.status, codeOf(answer), answer.headers['x-process']], [404, 'not_found', undefined]);
    });

    it('HEAD and OPTIONS on them, and refuses other methods', async () => {
      const front = await startFront({ query: [await startProcess('query')] });
      const head = await once(front, 'HEAD', '/health/live');
      assert.deepEqual([head.status, head.headers['content-length'], head.headers['x-process']], [200, '13', undefined]);
      const options = await once(front, 'OPTIONS', '/health/ready');
      assert.deepEqual([options.status, options.headers['allow'], options.headers['x-process']], [204, 'GET, HEAD, OPTIONS', undefined]);
      const post = await once(front, 'POST', '/metrics');
      assert.deepEqual([post.status, codeOf(post)], [405, 'method_not_allowed']);
    });
  });

  describe('with several processes of a role', () => {
    it('lets them take turns, each role by itself', async () => {
      const query = [await startProcess('query 1'), await startProcess('query 2')];
      const front = await startFront({ api: [await startProcess('api 1')], query });
      const answered: string[] = [];
      for (const method of ['GET', 'POST', 'GET', 'POST', 'GET', 'GET', 'POST', 'GET']) answered.push(gotIn(await once(front, method, ORDERS)).process);
      assert.deepEqual(answered, ['query 1', 'api 1', 'query 2', 'api 1', 'query 1', 'query 2', 'api 1', 'query 1']);
    });

    it('gives a request to another one when the connection is refused, whole, since nothing of it was sent', async () => {
      const front = await startFront({ api: [await closedPort(), await startProcess('api'), await closedPort()] });
      const body = 'x'.repeat(900_000);
      for (let i = 0; i < 6; i++) {
        const got = gotIn(await once(front, 'POST', ORDERS, { body }));
        assert.deepEqual([got.process, got.bytes], ['api', body.length]);
      }
    });

    it('does not take the connection of another one for the refused one\'s when that lives again', async () => {
      const port = await closedPort();
      const front = await startFront({ api: [port, await startProcess('other')] });
      assert.equal(gotIn(await once(front, 'POST', ORDERS, { body: '{}' })).process, 'other');
      assert.equal(gotIn(await once(front, 'POST', ORDERS, { body: '{}' })).process, 'other');
      await startProcess('reborn', undefined, port);
      const answered = [gotIn(await once(front, 'POST', ORDERS, { body: '{}' })).process, gotIn(await once(front, 'POST', ORDERS, { body: '{}' })).process];
      assert.deepEqual(answered, ['reborn', 'other']);
    });

    it('gives no order to another one that may have been taken', async () => {
      let asked = 0;
      const dying = () => startProcess('dying', (request) => {
        asked += 1;
        request.socket.destroy();
      });
      const answer = await once(await startFront({ api: [await dying(), await dying()] }), 'POST', ORDERS, { body: '{}' });
      assert.deepEqual([codeOf(answer), asked], ['outcome_unknown', 1]);
    });

    it('knows them anew for each request', async () => {
      const processes: Processes = { query: [await startProcess('first')] };
      const front = await startFront(processes);
      assert.equal(gotIn(await once(front, 'GET', ORDERS)).process, 'first');
      processes.query = [await startProcess('second')];
      assert.equal(gotIn(await once(front, 'GET', ORDERS)).process, 'second');
    });
  });

  describe('says what has become of a request', () => {
    it('`unavailable` when no process of the role runs, readable for a web page', async () => {
      const front = await startFront({ query: [await startProcess('query')] });
      const { status, headers, body } = await once(front, 'POST', ORDERS, { body: '{}' });
      assert.equal(status, 503);
      assert.deepEqual(
        [headers['content-type'], headers['retry-after'], headers['access-control-allow-origin'], headers['cache-control'], headers['x-content-type-options']],
        ['application/problem+json; charset=utf-8', '1', '*', 'no-store', 'nosniff']);
      assert.match(headers['access-control-expose-headers'] ?? '', /Retry-After/);
      const { code, status: told, detail } = JSON.parse(body) as Record<string, unknown>;
      assert.deepEqual({ code, told, detail }, { code: 'unavailable', told: 503, detail: 'no api process runs at the moment' });
      const head = await once(await startFront({}), 'HEAD', ORDERS);
      assert.deepEqual([head.status, head.body], [503, '']);
    });

    it('in the shape of the endpoint\'s errors', async () => {
      const { status, headers, body } = await once(await startFront({}), 'POST', '/api/v1/relayer/ctf-split', { body: '{}' });
      assert.deepEqual([status, headers['content-type']], [503, 'application/json; charset=utf-8']);
      const { success, error } = JSON.parse(body) as { success: boolean; error: string };
      assert.equal(success, false);
      assert.match(error, /no relayer process runs at the moment/);
    });

    for (const method of ['GET', 'POST', 'DELETE']) {
      it(`\`unavailable\` when the connection is refused, for ${method}`, async () => {
        const port = await closedPort();
        const answer = await once(await startFront({ api: [port], query: [port] }), method, `${ORDERS}/${HASH}`, method === 'GET' ? {} : { body: '{}' });
        assert.deepEqual([answer.status, codeOf(answer), answer.headers['retry-after']], [503, 'unavailable', '1']);
      });
    }

    const deaths: [method: string, path: string, code: string][] = [
      ['POST', ORDERS, 'outcome_unknown'], ['DELETE', `${ORDERS}/${HASH}`, 'outcome_unknown'], ['GET', ORDERS, 'unavailable'],
      ['OPTIONS', ORDERS, 'unavailable'],
    ];
    for (const [method, path, code] of deaths) {
      it(`\`${code}\` when the process dies after it got a ${method}`, async () => {
        const port = await startProcess('dying', async (request) => {
          await text(request);
          request.socket.destroy();
        });
        const answer = await once(await startFront({ api: [port], query: [port] }), method, path, method === 'POST' ? { body: '{}' } : {});
        assert.deepEqual([answer.status, codeOf(answer), answer.headers['access-control-allow-origin']], [503, code, '*']);
      });

      it(`\`${code}\` when the process stays silent after it got a ${method}`, async () => {
        const port = await startProcess('silent', () => undefined);
        const answer = await once(await startFront({ api: [port], query: [port] }, { silenceMs: 50 }), method, path);
        assert.deepEqual([answer.status, codeOf(answer)], [503, code]);
      });
    }

    it('by a cut connection when the process dies within its answer', async () => {
      const port = await startProcess('dying', (request, response) => {
        response.writeHead(200, { 'Content-Length': '100' });
        response.write('half', () => { request.socket.destroy(); });
      });
      const wire = await Wire.connect(await startFront({ query: [port] }));
      await assert.rejects(wire.request('GET', ORDERS).answer(), /the server closed the connection after .*half/s);
    });

    it('before the body of the request is whole, and then takes the next request on the same connection', async () => {
      const wire = await Wire.connect(await startFront({ api: [await closedPort()], query: [await startProcess('query')] }));
      const refused = await wire.request('POST', ORDERS, { body: 'x'.repeat(900_000) }).answer();
      assert.equal(codeOf(refused), 'unavailable');
      assert.equal(gotIn(await wire.request('GET', ORDERS).answer()).process, 'query');
      wire.close();
    });
  });

  describe('passes on', () => {
    it('status, headers and body of an answer as they are', async () => {
      const port = await startProcess('api', (_, response) => {
        response.writeHead(409, { 'Content-Type': 'application/problem+json', 'X-Log-Position': '7', 'Content-Length': '5' }).end('"abc"');
      });
      const { status, headers, body } = await once(await startFront({ api: [port] }), 'POST', ORDERS, { body: '{}' });
      assert.deepEqual([status, headers['content-type'], headers['x-log-position'], body], [409, 'application/problem+json', '7', '"abc"']);
    });

    it('headers of a request, and what asks for another protocol as HTTP/1.1', async () => {
      const front = await startFront({ query: [await startProcess('query')] });
      const headers = { 'X-Min-Log-Position': '41', 'Connection': 'Upgrade, HTTP2-Settings', 'Upgrade': 'h2c', 'HTTP2-Settings': 'AAMAAABk' };
      const answer = await once(front, 'GET', ORDERS, { headers });
      assert.deepEqual([answer.status, gotIn(answer).headers['x-min-log-position'], gotIn(answer).headers['host']], [200, '41', 'test']);
    });

    it('a large body, with its length or in chunks', async () => {
      const front = await startFront({ api: [await startProcess('api')] });
      const body = Buffer.alloc(8_000_000, 'x');
      assert.equal(gotIn(await once(front, 'POST', ORDERS, { body })).bytes, body.length);
      const wire = await Wire.connect(front);
      wire.send(`POST ${ORDERS} HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`).send(body).send('\r\n0\r\n\r\n');
      assert.equal(gotIn(await wire.answer()).bytes, body.length);
      wire.close();
    });

    it('a slow body, piece by piece', async () => {
      const pieces = inbox<string>();
      const port = await startProcess('api', async (request, response) => {
        for await (const piece of request.setEncoding('utf8') as AsyncIterable<string>) pieces.put(piece);
        response.end();
      });
      const wire = await Wire.connect(await startFront({ api: [port] }));
      wire.send(`POST ${ORDERS} HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\n`);
      for (const piece of ['one', 'two', 'six']) {
        wire.send(piece);
        assert.equal(await pieces.take(), piece);
      }
      assert.equal((await wire.answer()).status, 200);
      wire.close();
    });

    it('a stream, event by event, until the stack stops; its client is told by the cut connection', async () => {
      const answers = inbox<ServerResponse>();
      const port = await startProcess('query', (_, response) => { answers.put(response.writeHead(200, { 'Content-Type': 'text/event-stream' })); });
      const { app, port: front } = await startWith({ query: [port] });
      const request = get({ port: front, path: '/api/v1/prices/BTC/stream' });
      const answer = await answers.take();
      const left = event(answer, 'close');
      answer.write('data: 1\n\n');
      const [response] = await event(request, 'response') as [IncomingMessage];
      for (const n of [1, 2, 3]) {
        if (n > 1) answer.write(`data: ${n}\n\n`);
        assert.equal(String((await event(response, 'data'))[0]), `data: ${n}\n\n`);
      }
      const broken = event(response, 'error');
      app.closeConnections();
      await Promise.all([left, broken]);
    });

    it('a slow answer, piece by piece', async () => {
      const answers = inbox<ServerResponse>();
      const port = await startProcess('query', (_, response) => { answers.put(response.writeHead(200)); });
      const request = get({ port: await startFront({ query: [port] }), path: ORDERS });
      const answer = await answers.take();
      answer.write('one');
      const [response] = await event(request, 'response') as [IncomingMessage];
      assert.equal(String((await event(response, 'data'))[0]), 'one');
      answer.end('two');
      assert.equal(await text(response), 'two');
    });
  });

  describe('with a process that leaves', () => {
    it('waits until all that was sent to it is answered, but for streams, and closes the connections that are idle', async () => {
      const answers = inbox<ServerResponse>();
      const sockets = new Set<IncomingMessage['socket']>();
      const port = await startProcess('query', (request, response) => {
        sockets.add(request.socket);
        answers.put(response);
      });
      const { app, port: front } = await startWith({ query: [port], api: [port] });
      const stream = get({ port: front, path: '/api/v1/prices/BTC/stream' });
      stream.on('error', () => undefined);
      const streamed = await answers.take();
      const idle = await Wire.connect(front);
      idle.request('GET', ORDERS);
      (await answers.take()).end('1');
      await idle.answer();
      const busy = await Wire.connect(front);
      busy.request('POST', ORDERS, { body: '{}' });
      const answer = await answers.take();
      const forgotten = app.forget(port, 10_000).then(() => 'forgotten');
      assert.equal(await Promise.race([forgotten, new Promise((resolve) => setTimeout(resolve, 50, 'waits'))]), 'waits');
      const closed = [...sockets].filter((socket) => socket !== streamed.socket).map((socket) => new Promise((resolve) => { socket.once('close', resolve); }));
      answer.setHeader('Connection', 'close').end('2');
      const { headers } = await busy.answer();
      assert.equal(headers['connection'], 'keep-alive', 'the client keeps its connection');
      assert.equal(await forgotten, 'forgotten');
      await Promise.all(closed);
      assert.equal(streamed.destroyed, false);
      for (const wire of [idle, busy]) wire.close();
      stream.destroy();
    });

    it('waits no longer than it may', async () => {
      const asked = inbox<IncomingMessage>();
      const port = await startProcess('api', (request) => { asked.put(request); });
      const { app, port: front } = await startWith({ api: [port] });
      const wire = await Wire.connect(front);
      wire.request('POST', ORDERS, { body: '{}' });
      await asked.take();
      await app.forget(port, 50);
      wire.close();
    });

    it('asks its own clients to close their connections when it leaves itself', async () => {
      const { app, port: front } = await startWith({ query: [await startProcess('query')] });
      assert.equal((await once(front, 'GET', ORDERS)).headers['connection'], 'keep-alive');
      app.leave();
      for (const path of [ORDERS, '/health/live']) assert.equal((await once(front, 'GET', path)).headers['connection'], 'close');
    });
  });

  describe('tells a process the client\'s address in X-Forwarded-For', () => {
    const cases: [given: Record<string, string>, told: string, why: string][] = [
      [{}, '127.0.0.1', 'the only one'],
      [{ 'X-Forwarded-For': '203.0.113.9' }, '203.0.113.9, 127.0.0.1', 'after what the client claims'],
      [{ 'X-Forwarded-For': 'a, b', 'x-forwarded-for': 'c' }, 'a, b, c, 127.0.0.1', 'after claims in several lines'],
      [{ 'X-Forwarded-For': '' }, '127.0.0.1', 'instead of an empty claim'],
    ];
    for (const [headers, told, why] of cases) {
      it(why, async () => {
        const front = await startFront({ query: [await startProcess('query')] });
        assert.equal(gotIn(await once(front, 'GET', ORDERS, { headers })).headers['x-forwarded-for'], told);
      });
    }
  });

  describe('uses connections well', () => {
    it('keeps the client\'s and its own to a process', async () => {
      const wire = await Wire.connect(await startFront({ api: [await startProcess('api')] }));
      const connections = new Set<number>();
      for (let i = 0; i < 5; i++) connections.add(gotIn(await wire.request('POST', ORDERS, { body: '{}' }).answer()).connection);
      assert.equal(connections.size, 1);
      wire.close();
    });

    it('answers again after the process has been replaced by another at the same port', async () => {
      const port = await startProcess('before');
      const wire = await Wire.connect(await startFront({ api: [port] }));
      assert.equal(gotIn(await wire.request('POST', ORDERS, { body: '{}' }).answer()).process, 'before');
      const [server] = servers.splice(0, 1);
      await new Promise((resolve) => { server?.close(resolve).closeAllConnections(); });
      // The front may not have learned yet that its connection has ended: then the code is `outcome_unknown`.
      assert.equal((await wire.request('POST', ORDERS, { body: '{}' }).answer()).status, 503);
      await startProcess('after', undefined, port);
      assert.equal(gotIn(await wire.request('POST', ORDERS, { body: '{}' }).answer()).process, 'after');
      wire.close();
    });

    for (const sent of ['its whole request', 'half of its body']) {
      it(`ends the request to the process when a client goes away after ${sent}`, async () => {
        const asked = inbox<IncomingMessage>();
        const port = await startProcess('api', (request) => { asked.put(request); });
        const wire = await Wire.connect(await startFront({ api: [port] }));
        wire.send(`POST ${ORDERS} HTTP/1.1\r\nHost: test\r\nContent-Length: ${sent === 'its whole request' ? 4 : 8}\r\n\r\nhalf`);
        const request = await asked.take();
        request.on('error', () => undefined);
        const ended = new Promise((resolve) => { request.socket.once('close', resolve); });
        wire.close();
        await ended;
      });
    }
  });
});

type Processes = Partial<Record<RoleName, readonly number[]>>;

/** A front for these processes on a free port, which it returns. */
async function startFront(processes: Processes, options: Partial<FrontOptions> = {}): Promise<number> {
  return (await startWith(processes, options)).port;
}

async function startWith(processes: Processes, options: Partial<FrontOptions> = {}): Promise<{ readonly app: Front; readonly port: number }> {
  const metrics = createMetrics();
  const app = createFront({
    portsOf: (role) => processes[role] ?? [], metrics, showsMetrics: true, trustProxy: 0, readiness: async () => ({ status: 200, body: '{}' }),
    observer: { answered: (endpoint, status, seconds) => { metrics.answered(endpoint, status, seconds); }, failed: (error) => { throw error; } },
    ...options,
  });
  const server = createServer(app, { requestTimeoutMs: 5_000, keepAliveTimeoutMs: 5_000, maxConnections: 100, maxConnectionsPerAddress: 0 });
  servers.push(server);
  return { app, port: await listen(server, { host: '127.0.0.1', port: 0 }) };
}

type Behaviour = (...of: Parameters<RequestListener>) => void | Promise<void>;

/** A process of a role: answers with what it got, unless told how to behave. Returns its port. */
async function startProcess(name: string, behave?: Behaviour, port = 0): Promise<number> {
  const server = createHttpServer((request, response) => { void (behave ?? telling(name))(request, response); });
  servers.push(server);
  await event(server.listen(port, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

function telling(process: string): Behaviour {
  return async (request, response) => {
    const { method = '', url = '', headers, socket } = request;
    let bytes = 0;
    for await (const piece of request as AsyncIterable<Buffer>) bytes += piece.length;
    const body = JSON.stringify({ process, method, url, headers, bytes, connection: socket.remotePort });
    response.writeHead(200, { 'X-Process': process, 'X-Asked': `${method} ${url}`, 'Content-Length': Buffer.byteLength(body) }).end(body);
  };
}

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createSocketServer().listen(0, '127.0.0.1');
  await event(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}

const gotIn = ({ body }: WireAnswer): Got => JSON.parse(body) as Got;
const codeOf = ({ body }: WireAnswer): string => (JSON.parse(body) as { code: string }).code;

/** Values in the order of arrival; a taker waits for the next. */
function inbox<T>(): { put(value: T): void; take(): Promise<T> } {
  const values: T[] = [];
  const takers: ((value: T) => void)[] = [];
  return {
    put(value) {
      const taker = takers.shift();
      if (taker === undefined) values.push(value); else taker(value);
    },
    take: () => new Promise((resolve) => {
      const value = values.shift();
      if (value === undefined) takers.push(resolve); else resolve(value);
    }),
  };
}
