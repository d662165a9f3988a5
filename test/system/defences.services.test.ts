/** What the settings make of the whole exchange's address: cancels without signatures, a limit of connections per client, metrics elsewhere. */
import assert from 'node:assert/strict';
import { alice, exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { once, Wire } from '../support/wire.js';

describe('exchange: its address', () => {
  let exchange: ExchangeStack;
  let port: number;
  before(async () => {
    exchange = await exchangeStack({ CANCEL_AUTH: 'open', MAX_CONNECTIONS_PER_ADDRESS: '4', METRICS_PORT: '0' });
    port = Number(new URL(exchange.url).port);
  });
  after(() => exchange.close());

  it('takes a cancel without a signature from a program, and not from a page of another site', async () => {
    const { orderHash } = await exchange.place(alice);
    const path = `/api/v1/orders/${orderHash}?marketId=${exchange.rain.id}`;
    const cancel = (headers: Record<string, string>) => once(port, 'DELETE', path, { headers: { Host: `127.0.0.1:${port}`, ...headers } });
    const refused = await cancel({ Origin: 'https://evil.example' });
    assert.deepEqual([refused.status, (JSON.parse(refused.body) as { code: string }).code], [403, 'other_site']);
    const preflight = await once(port, 'OPTIONS', path, { headers: { 'Origin': 'https://evil.example', 'Access-Control-Request-Method': 'DELETE' } });
    assert.equal(preflight.headers['access-control-allow-methods'], 'GET, HEAD, OPTIONS');
    assert.equal((await cancel({})).status, 200);
  });

  it('keeps connections for others from a client that takes all it can, and counts what it closed', async () => {
    const wires = await Promise.all(Array.from({ length: 4 }, () => Wire.connect(port, { from: '127.0.0.9' })));
    for (const wire of wires) assert.equal((await wire.request('GET', '/health/live').answer()).status, 200);
    await (await Wire.connect(port, { from: '127.0.0.9' })).closed;
    assert.equal((await once(port, 'GET', '/health/live')).status, 200);
    for (const wire of wires) wire.close();
  });

  it('has no metrics where they have a port of their own', async () => {
    assert.equal((await once(port, 'GET', '/metrics')).status, 404);
  });
});
