/** `POST /api/v1/orders` with terms on a bare engine: what is recorded and answered, what is refused, and what leaves a record. */
import assert from 'node:assert/strict';
import type { Reply } from '../../service/api/endpoint.js';
import { RequestError } from '../../engine/records/errors.js';
import {
  START_MS, alice, anOrder, bob, bodyOf, orderWorld, marketId, refused, signOrder, signedBody, type OrderWorld, type Fields,
} from '../harness/order-world.js';
import { newCommand } from '../support/commands.js';

const fieldsIn = ({ body }: Reply) => JSON.parse(body) as Fields;

async function bodyWith(terms: Fields, order: Fields = {}, wallet = alice): Promise<Buffer> {
  const signed = anOrder({ trader: wallet.address, ...order });
  return bodyOf({ order: signed, signature: await signOrder(signed, wallet), ...terms });
}

describe('an order with terms', () => {
  let stack: OrderWorld;
  beforeEach(async () => {
    stack = await orderWorld();
    await stack.place(await signedBody({ side: 1, size: 10 }, bob));
  });

  const recordedTerms = () => {
    const { timeInForce, postOnly, notAfter, selfTrade } = stack.commands.at(-1) as Fields;
    return { timeInForce, postOnly, notAfter, selfTrade };
  };

  it('is recorded with those that are not the defaults', async () => {
    await stack.place(await bodyWith({ timeInForce: 'FAK', notAfter: String(START_MS), selfTrade: 'cancel_newer' }, { nonce: 1 }));
    assert.deepEqual(recordedTerms(), { timeInForce: 'FAK', postOnly: undefined, notAfter: START_MS, selfTrade: 'cancel_newer' });
    await stack.place(await bodyWith({ postOnly: true }, { nonce: 2, price: 1 }));
    assert.deepEqual(recordedTerms(), { timeInForce: undefined, postOnly: true, notAfter: undefined, selfTrade: undefined });
    for (const terms of [{ timeInForce: 'GTC', postOnly: false, selfTrade: 'cancel_older', notAfter: null }, { timeInForce: null, postOnly: null, selfTrade: null }]) {
      await stack.place(await bodyWith(terms, { nonce: stack.commands.length, price: 1 }));
      assert.deepEqual(Object.keys(stack.commands.at(-1)!).slice(-2), ['expiration', 'signature']);
    }
  });

  it('FAK and FOK are answered with what is left, also when they come again', async () => {
    const body = await bodyWith({ timeInForce: 'FAK' }, { size: 25, nonce: 1 });
    const first = await stack.place(body);
    assert.deepEqual([fieldsIn(first)['matches'], fieldsIn(first)['remainingSize'], fieldsIn(first)['status']], [1, 15, 'accepted']);
    const again = fieldsIn(await stack.place(body));
    assert.deepEqual([again['remainingSize'], again['orderStatus']], [15, 'cancelled']);
    await stack.place(await signedBody({ side: 1, size: 10, nonce: 2 }, bob));
    assert.equal(fieldsIn(await stack.place(await bodyWith({ timeInForce: 'FOK' }, { size: 10, nonce: 2 })))['remainingSize'], 0);
  });

  it('GTC is answered with what is left only where its selfTrade has cancelled it', async () => {
    await stack.place(await signedBody({ side: 1, size: 10, price: 630_000, nonce: 7 }));
    const answer = await stack.place(await bodyWith({ selfTrade: 'cancel_newer' }, { size: 15, price: 630_000, nonce: 1 }));
    assert.deepEqual([fieldsIn(answer)['matches'], fieldsIn(answer)['remainingSize']], [1, 5]);
    const resting = await stack.place(await bodyWith({ postOnly: true }, { price: 1, nonce: 2 }));
    assert.equal('remainingSize' in fieldsIn(resting), false);
  });

  it('is refused because of the book each time anew, without a record, and is not known then', async () => {
    const fok = await bodyWith({ timeInForce: 'FOK' }, { size: 11, nonce: 1 });
    const before = stack.commands.length;
    for (let n = 0; n < 2; n++) await refused(stack.place(fok), 'not_filled');
    assert.equal(stack.commands.length, before);
    await stack.place(await signedBody({ side: 1, size: 1, nonce: 2 }, bob));
    await refused(stack.place(await bodyWith({ postOnly: true }, { nonce: 1, size: 1 })), 'would_match');
    assert.equal(fieldsIn(await stack.place(fok))['matches'], 2);
  });

  it('that the book turns against after the look at it is refused by the engine', async () => {
    stack.beforeSubmit = () => {
      stack.beforeSubmit = () => undefined;
      const [ask] = stack.commands.slice(2);
      if (ask?.kind === 'PlaceOrder') stack.run(newCommand('CancelOrder', { at: START_MS, orderHash: ask.orderHash, marketId: ask.marketId }));
    };
    await refused(stack.place(await bodyWith({ timeInForce: 'FOK' }, { size: 10, nonce: 1 })), 'not_filled');
    assert.equal(stack.commands.at(-1)?.kind, 'PlaceOrder');
  });

  it('that another process has placed a moment ago is a repeat, whatever the book says by now', async () => {
    const body = await bodyWith({ timeInForce: 'FOK' }, { size: 10, nonce: 1 });
    const other = await orderWorld();
    await other.place(await signedBody({ side: 1, size: 10, nonce: 9 }, bob));
    await other.place(body);
    const [ask] = stack.commands.slice(2);
    if (ask?.kind === 'PlaceOrder') stack.run(newCommand('CancelOrder', { at: START_MS, orderHash: ask.orderHash, marketId }));
    stack.behind.push(...other.commands.slice(2));
    const answer = await stack.place(body);
    assert.deepEqual([fieldsIn(answer)['matches'], answer.headers], [1, { 'Idempotent-Replayed': 'true' }]);
  });

  it('that comes too late leaves one record, not its own, after which the replica refuses it', async () => {
    const body = await bodyWith({ notAfter: START_MS + 5_000 }, { nonce: 1, price: 1 });
    stack.clock.atMs = START_MS + 5_001;
    const before = stack.commands.length;
    for (let n = 0; n < 3; n++) await refused(stack.place(body), 'too_late');
    assert.deepEqual(stack.commands.slice(before), [newCommand('AdvanceClock', { at: START_MS + 5_001 })]);
  });

  it('that was accepted is answered again after its notAfter, without a record', async () => {
    const body = await bodyWith({ notAfter: START_MS }, { nonce: 1, price: 1 });
    const first = await stack.place(body);
    stack.clock.atMs = START_MS + 60_000;
    const before = stack.commands.length;
    assert.equal((await stack.place(body)).position, first.position);
    assert.equal(stack.commands.length, before);
  });

  it('keeps the terms of the first time, whatever it comes again with', async () => {
    const order = { nonce: 1, price: 1, size: 3 };
    const first = await stack.place(await bodyWith({ postOnly: true }, order));
    const again = await stack.place(await bodyWith({ timeInForce: 'FOK', notAfter: 1 }, order));
    assert.deepEqual([again.position, again.headers, fieldsIn(again)['orderStatus']], [first.position, { 'Idempotent-Replayed': 'true' }, 'open']);
    assert.equal('remainingSize' in fieldsIn(again), false);
  });

  it('at the same time with other terms is decided by its own', async () => {
    const order = { nonce: 1, size: 11 };
    const [fok, gtc] = await Promise.allSettled([
      stack.place(await bodyWith({ timeInForce: 'FOK' }, order)), stack.place(await bodyWith({}, order)),
    ]);
    assert.equal(fok.status === 'rejected' && fok.reason instanceof RequestError && fok.reason.code, 'not_filled');
    assert.equal(gtc.status, 'fulfilled');
  });

  it('that never rests is taken from a trader with as many open orders as may be', async () => {
    stack = await orderWorld({ maxOpenOrders: 1 });
    await stack.place(await signedBody({ side: 1, size: 10 }, bob));
    await stack.place(await signedBody({ nonce: 1, price: 1 }));
    await refused(stack.place(await bodyWith({}, { nonce: 2 })), 'too_many_open_orders');
    assert.equal(fieldsIn(await stack.place(await bodyWith({ timeInForce: 'FAK' }, { nonce: 2, size: 3 })))['matches'], 1);
  });

  const wrong: [terms: Fields, field: string][] = [
    [{ timeInForce: 'IOC' }, '/timeInForce'], [{ timeInForce: 1 }, '/timeInForce'], [{ postOnly: 'true' }, '/postOnly'], [{ postOnly: 1 }, '/postOnly'],
    [{ notAfter: -1 }, '/notAfter'], [{ notAfter: 1.5 }, '/notAfter'], [{ notAfter: '2e12' }, '/notAfter'], [{ notAfter: 2n ** 53n }, '/notAfter'],
    [{ selfTrade: 'cancel_both' }, '/selfTrade'], [{ postOnly: true, timeInForce: 'FOK' }, '/postOnly'], [{ postOnly: true, timeInForce: 'FAK' }, '/postOnly'],
    [{ timeinforce: 'FOK' }, '/timeinforce'],
  ];
  for (const [terms, field] of wrong) {
    it(`is refused with ${Object.entries(terms).map(([name, value]) => `${name} ${String(value)}`).join(', ')}`, async () => {
      await refused(stack.place(await bodyWith(terms)), 'invalid_request', [field]);
    });
  }
});
