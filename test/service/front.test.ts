/** The front over real HTTP servers that play the roles' processes: who gets a request, what passes through, what a failure is called. */
import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RoleName } from '../../service/roles/role-names.js';
import { closeServers, closedPort, codeOf, gotIn, inbox, ORDERS, servers, startFront, startProcess, startWith } from '../support/front-stage.js';
import { once, Wire } from '../support/wire.js';

const HASH = `0x${'ab'.repeat(32)}`;

describe('service: the front', () => {
  afterEach(closeServers);

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

    it('a stream without counting its connection for the share of its address, but a refused one counts', async () => {
      const port = await startProcess('query', ({ url = '' }, response) => {
        if (url.includes('/BTC/')) response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' }).write(':\n\n');
        else response.writeHead(429, { 'Content-Length': 0 }).end();
      });
      const { port: front } = await startWith({ query: [port] }, {}, { maxConnectionsPerAddress: 1 });
      const open: Wire[] = [];
      const ask = async (asset: string): Promise<number> => {
        const wire = await Wire.connect(front);
        open.push(wire);
        return (await wire.request('GET', `/api/v1/prices/${asset}/stream`).answer()).status;
      };
      assert.deepEqual([await ask('BTC'), await ask('BTC'), await ask('ETH')], [200, 200, 429]);
      await (await Wire.connect(front)).closed;
      for (const wire of open) wire.close();
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
