/** What the client does with a request: the same bytes until there is an answer, and what it says where there is none. */
import assert from 'node:assert/strict';
import { deliver, read, type Delivery } from '../../client/src/delivery.js';
import { OutcomeUnknown, Refusal, TransportError, type SentRequest } from '../../client/src/errors.js';
import { retryAfterOf } from '../../client/src/transport.js';
import { json, problem, scriptedFetch, type Step } from '../support/scripted-fetch.js';

const REQUEST: SentRequest = { method: 'POST', path: '/api/v1/orders', headers: { 'Content-Type': 'application/json' }, body: '{"signature":"0x12"}' };
const CUT = new TypeError('fetch failed', { cause: new Error('read ECONNRESET') });

/** An exchange that answers by these steps. */
function world(...steps: readonly Step[]) {
  const { fetch, asked } = scriptedFetch(...steps);
  const delivery: Delivery = { wire: { url: 'http://exchange.test', fetch }, timeoutMs: 5_000, attemptMs: 1_000 };
  const place = (options = {}) => deliver(delivery, REQUEST, { result: ({ body, wasUnsure }) => ({ ...body as object, wasUnsure }) }, options);
  return { delivery, asked, place, get: (options = {}) => read(delivery, { method: 'GET', path: '/api/v1/status' }, options) };
}

describe('client: delivery', () => {
  it('sends the same bytes until there is an answer', async () => {
    const { place, asked } = world(CUT, problem(503, 'outcome_unknown'), new Response('<html>', { status: 502 }), problem(429, 'rate_limited'), json({ orderHash: '0x1' }));
    assert.deepEqual(await place(), { orderHash: '0x1', wasUnsure: true });
    assert.equal(asked.length, 5);
    for (const { method, target, body } of asked) assert.deepEqual([method, target, body], ['POST', REQUEST.path, REQUEST.body]);
  });

  it('throws a refusal with its code, its fields and the whole body, and asks no more', async () => {
    const answer = json({ error: 'price is wrong', code: 'invalid_price', errors: [{ field: '/order/price', message: 'is too high' }], minOrderSize: 7 }, { status: 400 });
    const { place, asked } = world(answer);
    await assert.rejects(place(), (error) => {
      assert.ok(error instanceof Refusal);
      assert.deepEqual([error.status, error.code, error.message], [400, 'invalid_price', 'invalid_price: price is wrong']);
      assert.deepEqual(error.fields, [{ field: '/order/price', message: 'is too high' }]);
      assert.equal(error.body['minOrderSize'], 7n);
      return true;
    });
    assert.equal(asked.length, 1);
  });

  it('takes the code of the header where the body has none, as the relayer\'s', async () => {
    const { place } = world(json({ success: false, error: 'the nonce is used' }, { status: 409, headers: { 'X-Error-Code': 'relay_already_used' } }));
    await assert.rejects(place(), { name: 'Refusal', code: 'relay_already_used', message: 'relay_already_used: the nonce is used' });
  });

  it('gives up at once where the exchange asks for more time than there is, and knows that nothing has happened', async () => {
    const { place, asked } = world(problem(503, 'trading_halted', { 'Retry-After': '600' }));
    await assert.rejects(place(), (error) => error instanceof Refusal && error.code === 'trading_halted' && error.retryAfterMs === 600_000);
    assert.equal(asked.length, 1);
  });

  it('says that the outcome is unknown where a request may have been carried out, and asks again with the same bytes', async () => {
    for (const steps of [[CUT], [problem(503, 'outcome_unknown')], [problem(500, 'internal')], [new Response('<html>', { status: 504 })], [CUT, problem(429, 'rate_limited')]]) {
      const { place, asked } = world(...steps, problem(503, 'overloaded', { 'Retry-After': '600' }), json({ orderHash: '0x1' }));
      const unknown = await place().then(() => assert.fail('it was answered'), (error: unknown) => error);
      assert.ok(unknown instanceof OutcomeUnknown, String(unknown));
      assert.deepEqual(unknown.request, REQUEST);
      assert.deepEqual(JSON.parse(JSON.stringify(unknown.request)), REQUEST, 'it can be kept');
      const sent = asked.length;
      assert.deepEqual(await unknown.again(), { orderHash: '0x1', wasUnsure: false });
      assert.equal(asked.length, sent + 1);
      assert.equal(asked.at(-1)?.body, REQUEST.body);
    }
  });

  it('does not take JSON that is no object for an answer, since whatever stands between may send it', async () => {
    for (const other of [null, [], 'accepted', 1]) {
      await assert.rejects(world(json(other)).get({ timeoutMs: 50 }), { name: 'TransportError', status: 200, message: /its text is no JSON object$/ });
      assert.deepEqual(await world(json(other), json({ orderHash: '0x1' })).place(), { orderHash: '0x1', wasUnsure: true });
    }
  });

  it('says so when the time is up while nothing comes', async () => {
    const { place, asked } = world('silence');
    await assert.rejects(place({ timeoutMs: 50 }), (error) => error instanceof OutcomeUnknown && error.cause instanceof TransportError);
    assert.equal(asked.length, 1);
  });

  it('says so when the caller aborts amid an attempt, with the reason; before the first attempt nothing was sent', async () => {
    const leaving = new AbortController();
    const { place, asked } = world(() => {
      leaving.abort(new Error('shutting down'));
      throw CUT;
    });
    await assert.rejects(place({ signal: leaving.signal }), (error) => error instanceof OutcomeUnknown && (error.cause as Error).message === 'shutting down');
    await assert.rejects(place({ signal: leaving.signal }), /^Error: shutting down$/);
    assert.equal(asked.length, 1);
  });

  it('gives one attempt its time, and then makes another one', async () => {
    const { delivery, asked } = world('silence', json({ ok: true }));
    const answer = await read({ ...delivery, attemptMs: 20 }, { method: 'GET', path: '/api/v1/status' });
    assert.deepEqual([answer.body, asked.length], [{ ok: true }, 2]);
  });

  it('repeats a read, but not one that fails for a reason that stays', async () => {
    const { get, asked } = world(CUT, problem(503, 'not_caught_up'), json({ status: 'open' }));
    assert.deepEqual((await get()).body, { status: 'open' });
    assert.equal(asked.length, 3);
    for (const [status, code] of [[404, 'unknown_market'], [500, 'internal']] as const) {
      const one = world(problem(status, code));
      await assert.rejects(one.get(), { name: 'Refusal', code });
      assert.equal(one.asked.length, 1);
    }
  });

  it('throws what a read failed of when its time is up, or the reason of its signal', async () => {
    await assert.rejects(world(CUT).get({ timeoutMs: 100 }), (error) => error instanceof TransportError && error.message.endsWith('fetch failed: read ECONNRESET'));
    await assert.rejects(world(new Response('{"status":', { headers: { 'Content-Type': 'application/json' } })).get({ timeoutMs: 50 }), { name: 'TransportError', status: 200 });
    const reason = new Error('not needed');
    await assert.rejects(world('silence').get({ signal: AbortSignal.abort(reason) }), reason);
  });

  it('sends several orders again while one of them may still be taken', async () => {
    const { delivery, asked } = world(json({ results: [{ status: 200 }, { status: 503 }] }), json({ results: [{ status: 200 }, { status: 409 }] }));
    const isFinal = ({ body }: { body: unknown }) => (body as { results: { status: number }[] }).results.every(({ status }) => status < 500);
    const body = await deliver(delivery, REQUEST, { result: (answer) => answer.body, isFinal });
    assert.deepEqual([body, asked.length], [{ results: [{ status: 200 }, { status: 409 }] }, 2]);
  });

  it('reads Retry-After in seconds and as a date', () => {
    const now = Date.parse('2026-11-28T04:00:00Z');
    assert.deepEqual(['7', 'Sat, 28 Nov 2026 04:00:05 GMT', 'Sat, 28 Nov 2026 03:00:00 GMT', 'soon', null].map((header) => retryAfterOf(header, now)), [7_000, 5_000, 0, undefined, undefined]);
  });
});
