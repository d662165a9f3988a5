/** The load generator: it counts what it sends, and a stalled server cannot hide from its open loop. */
import assert from 'node:assert/strict';
import http, { type RequestListener, type Server } from 'node:http';
import fc from 'fast-check';
import { listen } from '../../service/http/server.js';
import { Latencies } from './latencies.js';
import { buildRequest, runLoad, runLoadInChild } from './load.js';

describe('bench: load generator', () => {
  const servers: Server[] = [];
  const serve = (listener: RequestListener) => {
    const server = http.createServer(listener);
    servers.push(server);
    return listen(server, { host: '127.0.0.1', port: 0 });
  };
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
  const answer: RequestListener = (request, response) => {
    request.resume().on('end', () => {
      const body = 'x'.repeat(3_000);
      response.writeHead(request.url === '/no' ? 404 : 200, { 'Content-Length': body.length }).end(body);
    });
  };
  const requests = [buildRequest('POST', '/yes', { body: '{"a":1}', headers: { 'X-A': 'b' } }), buildRequest('GET', '/no')];

  for (const [where, run] of [['here', runLoad], ['in a child process', runLoadInChild]] as const) {
    it(`sends every request in turn and counts the answers by status, ${where}`, async () => {
      const seen: string[] = [];
      const port = await serve((request, response) => {
        seen.push(`${request.method} ${request.url} ${request.headers['x-a']} ${request.headers['content-length']}`);
        answer(request, response);
      });
      const result = await run({ host: '127.0.0.1', port, connections: 3, requests, count: 50, warmUp: 10 });
      assert.deepEqual([result.answered, result.statuses], [40, { 200: 25, 404: 25 }]);
      assert.deepEqual(seen.sort(), [...Array<string>(25).fill('GET /no undefined undefined'), ...Array<string>(25).fill('POST /yes b 7')]);
      assert.ok(result.ratePerS > 0 && result.latencyMs.max >= result.latencyMs.p50);
    });
  }

  it('counts latency from when a request was due in the open loop, and from when it was sent in the closed one', async () => {
    const stallMs = 200;
    const stalling = () => {
      let first = true;
      return serve((request, response) => {
        setTimeout(() => { answer(request, response); }, first ? stallMs : 0);
        first = false;
      });
    };
    const load = { host: '127.0.0.1', connections: 1, requests, count: 50 };
    const open = await runLoad({ ...load, port: await stalling(), ratePerS: 1_000 });
    assert.ok(open.latencyMs.p50 > stallMs - 50, `every request was due while the server stalled: ${JSON.stringify(open)}`);
    const closed = await runLoad({ ...load, port: await stalling() });
    assert.ok(closed.latencyMs.p50 < closed.latencyMs.max, `only one request was sent while it did: ${JSON.stringify(closed)}`);
  });

  it('fails when the server breaks a connection or cannot be reached', async () => {
    const port = await serve((request) => request.socket.destroy());
    await assert.rejects(runLoad({ host: '127.0.0.1', port, connections: 2, requests, count: 10 }), /closed a connection|ECONNRESET/);
    const [server] = servers.splice(0);
    await new Promise((resolve) => server!.close(resolve));
    await assert.rejects(runLoadInChild({ host: '127.0.0.1', port, connections: 2, requests, count: 10 }), /ECONNREFUSED/);
  });

  it('keeps percentiles to 0.2 % of the true ones', () => {
    const values = fc.array(fc.integer({ min: 0, max: 100_000_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(fc.property(values, fc.double({ min: 0.01, max: 1, noNaN: true }), (microseconds, share) => {
      const latencies = new Latencies();
      for (const us of microseconds) latencies.add(us / 1_000);
      const exact = microseconds.sort((a, b) => a - b)[Math.max(1, Math.ceil(microseconds.length * share)) - 1]! / 1_000;
      const kept = latencies.percentile(share);
      assert.ok(kept >= exact && kept <= exact * 1.002, `${kept} for ${exact}`);
      assert.equal(latencies.summary().max, microseconds.at(-1)! / 1_000);
    }));
    assert.deepEqual(new Latencies().summary(), { p50: 0, p99: 0, p999: 0, max: 0 });
  });
});
