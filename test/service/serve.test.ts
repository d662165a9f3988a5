/** Listening: an address that cannot be had says what to do and leaves nothing listening, and the metrics have an address of their own if wanted. */
import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { createServer as createSocketServer, type AddressInfo, type Server } from 'node:net';
import { parseConfig } from '../../service/config.js';
import { createServer, listen } from '../../service/http/server.js';
import { createLogger } from '../../service/logger.js';
import { createMetrics } from '../../service/status/metrics.js';
import { OWN_DESCRIPTORS } from '../../service/machine/descriptors.js';
import { serve, type Listener } from '../../service/process/serve.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once, Wire } from '../support/wire.js';

interface Line { readonly msg: string; readonly url?: string }

const HOST = '127.0.0.1';
/** An address of a network that is for documents only (RFC 5737): no machine has it. */
const NOT_OURS = '203.0.113.1';

describe('service: listening', () => {
  let shell: RunningShell;
  let taken: Server;
  let takenPort: number;
  before(async () => {
    shell = await startShell();
    taken = createSocketServer().listen(0, HOST);
    await event(taken, 'listening');
    takenPort = (taken.address() as AddressInfo).port;
  });
  after(async () => {
    taken.close();
    await shell.stop();
  });

  const limits = { requestTimeoutMs: 5_000, keepAliveTimeoutMs: 5_000, maxConnections: 10, maxConnectionsPerAddress: 0 };

  describe('that fails', () => {
    it('because the port is in use says so, names the setting, and has the cause', async () => {
      const server = createServer(shell.app, limits);
      await assert.rejects(listen(server, { host: HOST, port: takenPort }), (error: Error) => {
        assert.equal(error.message, `${HOST}:${takenPort} is in use: stop what listens there, or set PORT to another port`);
        assert.equal((error.cause as NodeJS.ErrnoException).code, 'EADDRINUSE');
        return true;
      });
      await assert.rejects(listen(server, { host: HOST, port: takenPort, setting: 'METRICS_PORT' }), /or set METRICS_PORT to another port$/);
      assert.equal(server.listening, false);
    });

    it('for another reason says which setting to correct', async () => {
      await assert.rejects(listen(createServer(shell.app, limits), { host: NOT_OURS, port: 0 }), /machine \(EADDRNOTAVAIL\): correct HOST$/);
      await assert.rejects(listen(createServer(shell.app, limits), { host: NOT_OURS, port: 0, setting: 'METRICS_PORT' }), /: correct METRICS_PORT$/);
    });

    it('can be tried again with another port, on the same server', async () => {
      const server = createServer(shell.app, limits);
      await assert.rejects(listen(server, { host: HOST, port: takenPort }));
      const port = await listen(server, { host: HOST, port: 0 });
      assert.equal((await once(port, 'GET', '/health/live')).status, 200);
      server.closeAllConnections();
      server.close();
    });
  });

  it('that works gives the free port that was found, and the given one', async () => {
    const server = createServer(shell.app, limits);
    const port = await listen(server, { host: HOST, port: 0 });
    assert.ok(port > 0);
    assert.equal(port, (server.address() as AddressInfo).port);
    assert.equal(server.listenerCount('error'), 0, 'a later error is not taken for one of listening');
    server.close();
    await event(server, 'close');
    const again = createServer(shell.app, limits);
    assert.equal(await listen(again, { host: HOST, port }), port);
    again.close();
  });

  describe('with metrics at a port of their own', () => {
    /** Starts serving; `lines` has what was logged. */
    async function start(settings: Record<string, string>): Promise<{ readonly listener: Listener; readonly lines: Line[] }> {
      const lines: Line[] = [];
      const logger = createLogger({ logLevel: 'info' }, { write: (line) => { lines.push(JSON.parse(line) as Line); } });
      const config = parseConfig({ PORT: '0', CHAINS: 'none', ...settings });
      return { listener: await serve(shell.app, { config, metrics: createMetrics(), logger }), lines };
    }

    it('serves them there and nothing else', async () => {
      const { listener, lines } = await start({ METRICS_PORT: '0' });
      const url = new URL(lines.find(({ msg }) => msg === 'metrics')!.url!);
      assert.equal(url.hostname, HOST);
      assert.notEqual(url.port, new URL(listener.url).port);
      const { status, headers, body } = await once(Number(url.port), 'GET', '/metrics');
      assert.deepEqual([status, headers['content-type']?.split(';')[0]], [200, 'text/plain']);
      assert.match(body, /^exchange_http_connections \d/m);
      for (const path of ['/', '/api/v1/config', '/health/ready', '/docs/']) assert.equal((await once(Number(url.port), 'GET', path)).status, 404, path);
      await listener.stop();
      await assert.rejects(Wire.connect(Number(url.port)), { code: 'ECONNREFUSED' });
      await assert.rejects(Wire.connect(Number(new URL(listener.url).port)), { code: 'ECONNREFUSED' });
    });

    it('leaves nothing listening when one of the two addresses cannot be had', async () => {
      await assert.rejects(start({ METRICS_PORT: String(takenPort) }), /is in use: stop what listens there, or set METRICS_PORT to another port$/);
      const metricsPort = await freePort();
      await assert.rejects(start({ PORT: String(takenPort), METRICS_PORT: String(metricsPort) }), /is in use: .*, or set PORT to another port$/);
      await assert.rejects(Wire.connect(metricsPort), { code: 'ECONNREFUSED' });
    });
  });

  it('keeps to the connections that its open files allow, and says so', async () => {
    const lines: Line[] = [];
    const logger = createLogger({ logLevel: 'warn' }, { write: (line) => { lines.push(JSON.parse(line) as Line); } });
    const config = parseConfig({ PORT: '0', CHAINS: 'none', MAX_CONNECTIONS_PER_ADDRESS: '0' });
    const openFiles = async () => OWN_DESCRIPTORS + 2;
    const listener = await serve(shell.app, { config, metrics: createMetrics(), logger, openFiles });
    assert.match(lines[0]!.msg, /^MAX_CONNECTIONS=10000 needs 10256 open files, and this process may have 258: taking at most 2 connections/);
    const port = Number(new URL(listener.url).port);
    const wires = [await Wire.connect(port), await Wire.connect(port)];
    for (const wire of wires) assert.equal((await wire.request('GET', '/health/live').answer()).status, 200);
    await (await Wire.connect(port)).closed;
    for (const wire of wires) wire.close();
    await listener.stop();
  });

  it('names an IPv6 address as URLs do', async () => {
    const config = parseConfig({ PORT: '0', HOST: '::1', CHAINS: 'none' });
    const listener = await serve(shell.app, { config, metrics: createMetrics(), logger: createLogger({ logLevel: 'silent' }) });
    assert.equal((await fetch(`${listener.url}/health/live`)).status, 200);
    await listener.stop();
  });
});

async function freePort(): Promise<number> {
  const server = createSocketServer().listen(0, HOST);
  await event(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await event(server, 'close');
  return port;
}
