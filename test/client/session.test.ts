/** What the client's calls share: the chain of a market, the configuration, the position of own writes, and deadlines that rise. */
import assert from 'node:assert/strict';
import { connect, Outcome, Side, type TypedData } from '../../client/src/client.js';
import { json, scriptedFetch, type Asked, type Step } from '../support/scripted-fetch.js';

const MARKET = `0x${'4d'.repeat(32)}` as const;
const ADDRESS = `0x${'aa'.repeat(20)}`;
const ORDER = { market: MARKET, side: Side.Buy, outcome: Outcome.Yes, price: '0.4', size: '1' } as const;
const NOW = Math.floor(Date.now() / 1_000);

const domainOf = (chainId: number) => ({ name: 'Settlement', version: '1', chainId, verifyingContract: `0x${'bb'.repeat(20)}` });
const chain = (chainId: number, domain: object | null = domainOf(chainId)) => ({
  chainId, signedActions: Object.fromEntries(['order', 'cancel', 'cancel-orders', 'cancel-all', 'cancel-after'].map((name) => [
    name, { primaryType: name, domain, types: {}, nonce: { kind: 'none' } }])),
});
const config = (...chains: object[]) => json({ serverTime: NOW, chains });

/** A client of an exchange that answers each path by the steps for it. */
function world(paths: Readonly<Record<string, readonly Step[]>>) {
  const scripted = Object.fromEntries(Object.entries(paths).map(([path, steps]) => [path, scriptedFetch(...steps)]));
  const asked: Asked[] = [];
  const signed: TypedData[] = [];
  const client = connect({
    url: 'http://exchange.test/', timeoutMs: 2_000,
    signer: {
      address: ADDRESS,
      signTypedData: (typed: TypedData) => {
        signed.push(typed);
        return Promise.resolve(`0x${'11'.repeat(64)}1b`);
      },
    },
    fetch: async (url, init) => {
      const path = new URL(url).pathname;
      const { fetch, asked: ofPath } = scripted[path] ?? assert.fail(`${path} was asked for`);
      const answer = await fetch(url, init);
      asked.push(ofPath.at(-1)!);
      return answer;
    },
  });
  return { client, asked, signed };
}

const at = (position: number) => ({ headers: { 'X-Log-Position': String(position) } });
const placed = (position: number) => json({ orderHash: '0x1', status: 'accepted', matches: 0, timestamp: NOW }, at(position));
const all = (headers: Record<string, string>) => json({ status: 'cancelled', cancelled: 2 }, { headers });

describe('client: what its calls share', () => {
  it('signs for the chain of the market, which is looked up where there are several', async () => {
    const { client, signed, asked } = world({
      '/api/v1/config': [config(chain(1), chain(2))], [`/api/v1/markets/${MARKET}`]: [json({ id: MARKET, chainId: 2 })], '/api/v1/orders': [placed(7)],
    });
    await client.place(ORDER);
    await client.place({ ...ORDER, market: { id: MARKET, chainId: 1 } });
    assert.deepEqual(signed.map(({ domain }) => domain.chainId), [2, 1]);
    assert.deepEqual(asked.map(({ target }) => target), ['/api/v1/config', `/api/v1/markets/${MARKET}`, '/api/v1/orders', '/api/v1/orders']);
    await assert.rejects(client.cancelAfter({ seconds: 5 }), { name: 'BadArgument', argument: 'chainId', message: 'chainId is one of 1, 2, not undefined' });
    await assert.rejects(client.cancelAll({ chainId: 3 }), { name: 'BadArgument', argument: 'chainId' });
  });

  it('asks for the configuration again while a domain is missing', async () => {
    const { client, signed } = world({ '/api/v1/config': [config(chain(1, null)), config(chain(1))], '/api/v1/orders': [placed(7)] });
    await client.place(ORDER);
    assert.deepEqual(signed.map(({ domain }) => domain), [domainOf(1)]);
    const never = world({ '/api/v1/config': [config(chain(1, null))] });
    await assert.rejects(never.client.place(ORDER), /cannot be signed before the exchange has read chain 1/);
  });

  it('asks for it once for many calls, and one that is aborted takes it from none of the others', async () => {
    const { client, asked } = world({ '/api/v1/config': [config(chain(1))], '/api/v1/orders': [placed(7)] });
    const leaving = new AbortController();
    const aborted = assert.rejects(client.place(ORDER, { signal: leaving.signal }), /not needed/);
    const others = [client.place(ORDER), client.place(ORDER)];
    leaving.abort(new Error('not needed'));
    await Promise.all([aborted, ...others]);
    assert.equal(asked.filter(({ target }) => target === '/api/v1/config').length, 1);
  });

  it('reads what it has written: the highest position goes with every read', async () => {
    const { client, asked } = world({
      '/api/v1/config': [config(chain(1))], '/api/v1/orders': [placed(9), placed(7)], '/api/v1/status': [json({ status: 'open' })],
    });
    await client.read.status();
    await client.place(ORDER);
    await client.place(ORDER);
    await client.read.status();
    assert.equal(client.position, 9);
    const reads = asked.filter(({ target }) => target === '/api/v1/status');
    assert.deepEqual(reads.map(({ headers }) => headers.get('X-Min-Log-Position')), [null, '9']);
  });

  it('does not take an object without its list for an answer: a read throws, and what changes something is asked again', async () => {
    const config = { serverTime: NOW, chains: [chain(1)] };
    const lists = ['markets', `trades/${MARKET}`, 'events', 'prices/BTC/history'];
    const { client, asked } = world({
      ...Object.fromEntries(lists.map((path) => [`/api/v1/${path}`, [json({})]])), '/api/v1/config': [json({}), json(config)],
      '/api/v1/orders/batch': [json({}), json({ results: [] }, at(6)), json({ results: [null] }, at(6)), json({ results: [{ status: 200, body: { orderHash: '0x1' } }] }, at(7))],
      '/api/v1/orders/cancel': [json({}), json({ results: [{ status: 200, body: { orderHash: '0x1' } }] }, at(8))],
    });
    const { read } = client;
    for (const reading of [
      () => client.place(ORDER), () => read.markets().take(1), () => read.trades(MARKET).take(1), () => read.history().take(1),
      () => read.prices('BTC'),
    ]) {
      await assert.rejects(async () => { await reading(); }, { name: 'TransportError', status: 200, message: /^an answer has no list `\w+`/ });
    }
    assert.deepEqual((await client.placeBatch([ORDER])).map((each) => each instanceof Error ? each : each.orderHash), ['0x1']);
    assert.deepEqual(await client.cancelMany([{ orderHash: MARKET }]), [{ orderHash: '0x1' }]);
    assert.deepEqual(asked.filter(({ method }) => method === 'POST').map(({ target }) => target.split('/').at(-1)), [
      ...Array.from({ length: 4 }, () => 'batch'), 'cancel', 'cancel',
    ]);
  });

  it('signs each request about orders with a later deadline', async () => {
    const { client, signed } = world({
      '/api/v1/config': [config(chain(1))], '/api/v1/orders/cancel-after': [json({ status: 'armed', cancelAt: 1 }, at(5))],
    });
    for (let i = 0; i < 3; i++) await client.cancelAfter({ seconds: 30 });
    const deadlines = signed.map(({ message }) => Number(message['deadline']));
    assert.ok(deadlines.every((each, i) => i === 0 || each > deadlines[i - 1]!), deadlines.join());
    assert.ok(deadlines[0]! >= NOW + 60, 'it outlasts the call');
  });

  it('cancels all anew where the answer is that of another program\'s request, but not where its own was lost', async () => {
    const replay = all({ 'X-Log-Position': '5', 'Idempotent-Replayed': 'true' });
    const fresh = world({ '/api/v1/config': [config(chain(1))], '/api/v1/orders/cancel-all': [replay, all({ 'X-Log-Position': '8' })] });
    assert.equal((await fresh.client.cancelAll()).position, 8);
    assert.equal(fresh.signed.length, 2);
    const lost = world({ '/api/v1/config': [config(chain(1))], '/api/v1/orders/cancel-all': [new TypeError('cut'), replay] });
    assert.equal((await lost.client.cancelAll()).position, 5);
    assert.equal(lost.signed.length, 1);
  });
});
