/** Bodies that nobody asked for: every path that takes none drops a small one, and cuts off a client that sends without end. */
import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import type { Socket } from 'node:net';
import { patternOf, roleOf } from '../support/role-of.js';
import { allEndpoints } from '../../service/endpoints.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { Wire } from '../support/wire.js';

const MIB = 1024 * 1024;
const CHUNK = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 'x'), Buffer.from('\r\n')]);

const paths = [
  ...allEndpoints.filter(({ method }) => method === 'GET').map(({ path }) => path.replace('{address}', `0x${'11'.repeat(20)}`)
    .replace('{marketAddress}', `0x${'22'.repeat(20)}`).replace(/\{\w+\}/, `0x${'33'.repeat(32)}`)),
  '/docs', '/docs/', '/docs/swagger-ui.css', '/docs/swagger-ui-init.js', '/docs/nothing', '/', '/unknown/path', '/%zz',
];
const requests = [
  ...paths.map((path) => ({ method: 'GET', path })), { method: 'HEAD', path: '/docs/' }, { method: 'POST', path: '/docs/' },
  { method: 'OPTIONS', path: '/api/v1/orders' }, { method: 'PUT', path: '/api/v1/orders' }, { method: 'DELETE', path: `/api/v1/orders/0x${'33'.repeat(32)}` },
];

describe('service: bodies that nobody asked for', () => {
  let shell: RunningShell;
  before(async () => {
    // No request ends by its time: only by what the service reads of it.
    shell = await startShell({ limits: { requestTimeoutMs: 300_000 } });
  });
  after(() => shell.stop());

  it('are tried at every endpoint that takes none', () => {
    for (const endpoint of allEndpoints.filter(({ method }) => method === 'GET')) {
      assert.ok(paths.some((path) => patternOf(endpoint).test(path) && roleOf('GET', path) === endpoint.role), endpoint.path);
    }
  });

  for (const { method, path } of requests) {
    it(`${method} ${path} cuts off a client that sends without end`, async () => {
      assert.ok(await readOf(shell.server, shell.port, { method, path }) < 16 * MIB);
    });
  }

  for (const path of ['/docs/', '/api/v1/markets', '/metrics', '/unknown/path']) {
    it(`GET ${path} drops a small one, and the connection stays of use`, async () => {
      const wire = await Wire.connect(shell.port);
      const { status } = await wire.request('GET', path, { body: 'x'.repeat(100_000) }).answer();
      assert.equal(status, path === '/unknown/path' ? 404 : 200);
      assert.equal((await wire.request('GET', '/health/live').answer()).status, 200);
      wire.close();
    });
  }
});

/** Sends a chunked body until the service closes the connection; resolves with the number of bytes that the service has read of it. */
async function readOf(server: RunningShell['server'], port: number, { method, path }: { method: string; path: string }): Promise<number> {
  const accepted = event(server, 'connection') as Promise<[Socket]>;
  const wire = await Wire.connect(port);
  const [socket] = await accepted;
  const pump = () => { while (!wire.socket.destroyed && wire.socket.write(CHUNK)); };
  wire.send(`${method} ${path} HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n`);
  wire.socket.on('drain', pump);
  pump();
  const closed = wire.closed;
  // A service that reads on and on would keep the test waiting: it is found out by what it has read.
  const watch = setInterval(() => { if (socket.bytesRead > 64 * MIB) wire.close(); }, 10);
  await closed;
  clearInterval(watch);
  return socket.bytesRead;
}
