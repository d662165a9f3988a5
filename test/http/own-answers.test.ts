/** What Node would answer by itself, without a body or not at all, is a problem document here: the Host line, Expect, CONNECT, half-open clients. */
import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { startShell, type RunningShell } from '../support/shell.js';
import { Wire } from '../support/wire.js';

const codeOf = (body: string) => (JSON.parse(body) as { code: string }).code;

/** What is sent, the status and the code of the answer, and whether the connection goes on. */
const cases: readonly [what: string, bytes: string, status: number, code: string][] = [
  ['no Host line', 'GET /api/v1/config HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
  ['no Host line, for a page', 'GET /docs/ HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
  ['two Host lines', 'GET /api/v1/config HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n', 400, 'invalid_request'],
  ['an Expect that nobody knows', 'GET /api/v1/config HTTP/1.1\r\nHost: test\r\nExpect: miracles\r\n\r\n', 417, 'expectation_failed'],
  ['an Expect that nobody knows, with a body', 'POST /api/v1/orders HTTP/1.1\r\nHost: test\r\nExpect: 200-ok\r\nContent-Length: 2\r\n\r\n{}', 417, 'expectation_failed'],
];

describe('service: the answers that Node would give itself', () => {
  let shell: RunningShell;
  before(async () => { shell = await startShell(); });
  after(() => shell.stop());

  for (const [what, bytes, status, code] of cases) {
    it(`answers ${what} with a problem, and then the next request`, async () => {
      const wire = await Wire.connect(shell.port);
      const answer = await wire.send(bytes).answer();
      assert.deepEqual([answer.status, answer.headers['content-type'], codeOf(answer.body)], [status, 'application/problem+json; charset=utf-8', code]);
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
      assert.equal((await wire.request('GET', '/api/v1/config').answer()).status, 200);
      wire.close();
    });
  }

  it('takes HTTP/1.0 without Host, and Expect: 100-continue', async () => {
    const old = await Wire.connect(shell.port);
    assert.equal((await old.send('GET /health/live HTTP/1.0\r\n\r\n').answer()).status, 200);
    const wire = await Wire.connect(shell.port);
    wire.send('POST /api/v1/orders HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n');
    assert.equal((await wire.answer()).status, 100);
    assert.equal((await wire.send('{}').answer()).status, 200);
    wire.close();
  });

  it('answers CONNECT with a problem and closes', async () => {
    const wire = await Wire.connect(shell.port);
    const answer = await wire.send('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n').answer();
    assert.deepEqual([answer.status, codeOf(answer.body)], [400, 'invalid_request']);
    await wire.closed;
  });

  it('does not keep the connection of a client that got its last answer and leaves its own half open', async () => {
    for (const bytes of ['nonsense\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n']) {
      const client = createConnection({ port: shell.port, host: '127.0.0.1', allowHalfOpen: true });
      const accepted = event(shell.server, 'connection') as Promise<[Socket]>;
      await event(client, 'connect');
      const [socket] = await accepted;
      const closed = event(socket, 'close');
      client.on('error', () => undefined).resume().write(bytes);
      await closed;
      client.destroy();
    }
  });
});
