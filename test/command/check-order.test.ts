/** `POST /api/v1/orders/check` on a bare engine: it says what the order then does, or why it is refused, and leaves no trace. */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import {
  START_MS, START_S, alice, anOrder, bob, bodyOf, orderWorld, refused, signOrder, signedBody, type OrderWorld, type Fields,
} from '../harness/order-world.js';

describe('the check of an order', () => {
  let stack: OrderWorld;
  beforeEach(async () => {
    stack = await orderWorld({ minSize: 5, maxOpenOrders: 3 });
    for (const [nonce, price, size] of [[1, 600_000, 10], [2, 600_000, 7], [3, 610_001, 20]]) {
      await stack.place(await signedBody({ side: 1, nonce, price, size }, bob));
    }
  });

  const unsigned = (fields: Fields = {}, terms: Fields = {}) => bodyOf({ order: anOrder(fields), ...terms });
  const check = async (body: Buffer) => JSON.parse((await stack.check(body)).body) as Fields & { refusal?: { code: string; status: number } };

  it('tells the matches by price, what rests, what it costs and pays, and records nothing', async () => {
    const { length } = stack.commands;
    const digest = Buffer.from(stack.engine.digest);
    const { body, position } = await stack.check(unsigned({ size: 50 }));
    const { orderHash, ...told } = JSON.parse(body) as Fields;
    assert.deepEqual(told, {
      accepted: true, matches: [{ price: 600_000, size: 17, cost: 11 }, { price: 610_001, size: 20, cost: 13 }], filledSize: 37, restingSize: 13,
      cancelledSize: 0, cost: 24, payout: 37, needed: 33, ownOrdersCancelled: 0,
    });
    assert.equal(position, length - 1);
    assert.deepEqual([stack.commands.length, Buffer.from(stack.engine.digest)], [length, digest]);
    const placed = JSON.parse((await stack.place(await signedBody({ size: 50 }))).body) as Fields;
    assert.deepEqual([placed['orderHash'], placed['matches']], [orderHash, 3]);
    assert.deepEqual(await check(unsigned({ size: 50 })), { accepted: true, orderHash, orderStatus: 'open' });
  });

  it('tells of a sell what it receives, and of own orders what is cancelled', async () => {
    await stack.place(await signedBody({ size: 17, nonce: 4 }));
    await stack.place(await signedBody({ size: 9, nonce: 5, price: 500_000 }));
    const told = await check(unsigned({ trader: bob.address, side: 1, size: 12, price: 500_000, nonce: 9 }));
    assert.deepEqual([told['filledSize'], told['restingSize'], told['cost'], told['payout'], told['needed']], [9, 3, 5, 5, 12]);
    const own = await check(unsigned({ side: 1, size: 12, price: 500_000, nonce: 9 }));
    assert.deepEqual([own['filledSize'], own['ownOrdersCancelled'], own['restingSize']], [0, 1, 12]);
    const newer = await check(unsigned({ side: 1, size: 12, price: 500_000, nonce: 9 }, { selfTrade: 'cancel_newer' }));
    assert.deepEqual([newer['ownOrdersCancelled'], newer['restingSize'], newer['cancelledSize']], [0, 0, 12]);
  });

  const refusals: [name: string, body: () => Buffer | Promise<Buffer>, code: string, status: number][] = [
    ['a price', () => unsigned({ price: 0 }), 'invalid_price', 400], ['a size below the chain\'s', () => unsigned({ size: 4 }), 'size_too_small', 400],
    ['an expiration', () => unsigned({ expiration: START_S + 59 }), 'invalid_expiration', 400],
    ['a market', () => unsigned({ marketId: `0x${'77'.repeat(32)}` }), 'unknown_market', 404],
    ['a signature of another', async () => bodyOf({ order: anOrder(), signature: await signOrder(anOrder(), bob) }), 'invalid_signature', 400],
    ['a time that has passed', () => unsigned({}, { notAfter: START_MS - 1 }), 'too_late', 409],
    ['a used nonce', () => unsigned({ trader: bob.address, side: 1 }), 'duplicate_nonce', 409],
    ['too many open orders', () => unsigned({ trader: bob.address, side: 1, nonce: 9 }), 'too_many_open_orders', 409],
    ['not enough to fill', () => unsigned({ size: 50 }, { timeInForce: 'FOK' }), 'not_filled', 409],
    ['a match', () => unsigned({}, { postOnly: true }), 'would_match', 409],
  ];
  for (const [name, body, code, status] of refusals) {
    it(`tells that the order would be refused for ${name}`, async () => {
      const told = await check(await body());
      assert.deepEqual([told['accepted'], told.refusal?.code, told.refusal?.status], [false, code, status]);
    });
  }

  it('tells what the trader lacks, and reserves nothing', async () => {
    const held: string[] = [];
    stack.exposure = { hold: ({ trader }) => {
      held.push(trader);
      return Promise.resolve(() => { held.pop(); });
    } };
    assert.equal((await check(unsigned()))['accepted'], true);
    assert.deepEqual(held, []);
    stack.exposure = { hold: () => Promise.reject(new RequestError('insufficient_balance', '', [], { required: 16, available: 3 })) };
    const { refusal } = await check(unsigned());
    assert.deepEqual(refusal, { ...refusal, status: 422, code: 'insufficient_balance', required: 16, available: 3 });
    stack.exposure = { hold: () => Promise.reject(new RequestError('chain_unavailable')) };
    await refused(stack.check(unsigned()), 'chain_unavailable');
  });

  it('refuses a body that is no order', async () => {
    await refused(stack.check(bodyOf({ order: { ...anOrder(), extra: 1 } })), 'invalid_request', ['/order/extra']);
    await refused(stack.check(Buffer.from('{')), 'invalid_json');
    assert.equal((await check(bodyOf({ order: anOrder({ trader: alice.address }), signature: null })))['accepted'], true);
  });
});
