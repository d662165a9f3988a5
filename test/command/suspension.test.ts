/** A trader whose fills failed twice through the trader's own doing gets no order in, and is told until when. */
import assert from 'node:assert/strict';
import type { FailFill } from '../../engine/records/commands.js';
import { START_MS, START_S, bob, orderWorld, refused, signedBody, type OrderWorld } from '../harness/order-world.js';
import { newCommand } from '../support/commands.js';

const failure = (fill: number, at: number): FailFill => newCommand('FailFill', {
  at, fill, txHash: `0x${'0f'.repeat(32)}`, reason: 'buyer_insufficient_balance', culprit: 'buyer',
});

describe('a trader who has defaulted twice', () => {
  let stack: OrderWorld;
  let nonce = 10;
  const next = (fields: object = {}) => signedBody({ nonce: nonce++, size: 1_000_000, ...fields });
  const place = async () => stack.place(await next());

  beforeEach(async () => {
    stack = await orderWorld();
    await stack.place(await signedBody({ side: 1, size: 100_000_000 }, bob));
    await place();
    stack.run(failure(0, START_MS));
    await place();
  });

  it('gets no order in before the suspension ends, told by the replica: nothing is written', async () => {
    stack.run(failure(1, START_MS + 500));
    stack.clock.atMs = START_MS + 700;
    const before = stack.commands.length;
    const error = await refused(place(), 'trader_suspended');
    assert.equal(stack.commands.length, before);
    assert.deepEqual(error.extra, { suspendedUntil: START_S + 31, retryAfterS: 30 });
    assert.ok(error.message.endsWith(`suspended until ${START_S + 31}, in 30 s`), error.message);
    stack.clock.atMs = START_MS + 30_499;
    assert.deepEqual((await refused(place(), 'trader_suspended')).extra, { suspendedUntil: START_S + 31, retryAfterS: 1 });
    stack.clock.atMs = START_MS + 30_500;
    await place();
  });

  it('gets the same answer when the engine decides so after the last look', async () => {
    const body = await next();
    stack.beforeSubmit = () => {
      stack.beforeSubmit = () => undefined;
      stack.run(failure(1, START_MS + 500));
    };
    assert.deepEqual((await refused(stack.place(body), 'trader_suspended')).extra, { suspendedUntil: START_S + 31, retryAfterS: 30 });
  });

  it('gets the first answer to an order again', async () => {
    const body = await next({ price: 1, size: 7 });
    const { position } = await stack.place(body);
    stack.run(failure(1, START_MS));
    assert.equal((await stack.place(body)).position, position);
  });

  it('does not keep others out', async () => {
    stack.run(failure(1, START_MS));
    await stack.place(await signedBody({ side: 1, nonce: 2 }, bob));
  });
});
