/** While cancels need no signature, no web page of another site can cancel: preflights, an Origin, names that resolve to this machine. */
import assert from 'node:assert/strict';
import { cancelOrder } from '../../command/orders/cancel-order.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once } from '../support/wire.js';

const ORDER = `/api/v1/orders/0x${'4d'.repeat(32)}`;
const codeOf = (body: string) => (JSON.parse(body) as { code?: string }).code;

describe('service: cancels without a signature', () => {
  let cancelled: number;
  let open: RunningShell;
  let signed: RunningShell;
  before(async () => {
    const handlers = { cancelOrder: () => ({ body: `{"cancelled":${++cancelled}}` }) };
    open = await startShell({ app: { ownPagesOnly: [cancelOrder] }, handlers });
    signed = await startShell({ handlers });
  });
  beforeEach(() => { cancelled = 0; });
  after(async () => {
    await open.stop();
    await signed.stop();
  });

  const preflight = (port: number, method: string) =>
    once(port, 'OPTIONS', ORDER, { headers: { 'Origin': 'https://evil.example', 'Access-Control-Request-Method': method } });

  it('are in no preflight\'s methods, while reads of the same path are', async () => {
    const { status, headers } = await preflight(open.port, 'DELETE');
    assert.deepEqual([status, headers['access-control-allow-methods'], headers['allow']], [204, 'GET, HEAD, OPTIONS', 'DELETE, GET, HEAD, OPTIONS']);
    assert.equal((await preflight(signed.port, 'DELETE')).headers['access-control-allow-methods'], 'DELETE, GET, HEAD, OPTIONS', 'with signatures they are');
    const orders = await once(open.port, 'OPTIONS', '/api/v1/orders', { headers: { Origin: 'https://dapp.example' } });
    assert.equal(orders.headers['access-control-allow-methods'], 'POST, GET, HEAD, OPTIONS', 'a signed order may come from any page');
  });

  const here = () => `127.0.0.1:${open.port}`;
  const refused: [what: string, headers: () => Record<string, string>][] = [
    ['a page of another site', () => ({ Host: here(), Origin: 'https://evil.example' })],
    ['a page of another port of this machine', () => ({ Host: here(), Origin: 'http://127.0.0.1:1' })],
    ['a sandboxed page or a local file', () => ({ Host: here(), Origin: 'null' })],
    ['a page whose own name resolves to this machine', () => ({ Host: `evil.example:${open.port}`, Origin: `http://evil.example:${open.port}` })],
    ['a request under another name without an Origin', () => ({ Host: 'evil.example' })],
    ['a Host that is no host', () => ({ Host: '' })],
  ];
  for (const [what, headers] of refused) {
    it(`refuse ${what} with 403, which that page cannot read`, async () => {
      const { status, headers: got, body } = await once(open.port, 'DELETE', ORDER, { headers: headers() });
      assert.deepEqual([status, codeOf(body), got['access-control-allow-origin'], cancelled], [403, 'other_site', undefined, 0]);
    });
  }

  const taken: [what: string, headers: () => Record<string, string>][] = [
    ['programs', () => ({ Host: here() })],
    ['the service\'s own page', () => ({ Host: here(), Origin: `http://${here()}` })],
    ['its own page under another name of this machine', () => ({ Host: `localhost:${open.port}`, Origin: `http://localhost:${open.port}` })],
    ['its own page at the IPv6 address', () => ({ Host: `[::1]:${open.port}`, Origin: `http://[::1]:${open.port}` })],
  ];
  for (const [what, headers] of taken) {
    it(`are taken from ${what}, without a word to other pages`, async () => {
      const { status, headers: got, body } = await once(open.port, 'DELETE', ORDER, { headers: headers() });
      assert.deepEqual([status, body, got['access-control-allow-origin']], [200, '{"cancelled":1}', undefined]);
    });
  }

  it('ask nothing of Host and Origin once signatures decide', async () => {
    const { status, headers } = await once(signed.port, 'DELETE', ORDER, { headers: { Host: 'exchange.example', Origin: 'https://dapp.example' } });
    assert.deepEqual([status, headers['access-control-allow-origin']], [200, '*']);
  });
});
