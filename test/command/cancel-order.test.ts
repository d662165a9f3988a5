/** `DELETE /api/v1/orders/{hash}` on a bare engine: whose signature counts, what is answered, and what is refused first. */
import assert from 'node:assert/strict';
import type { Reply } from '../../service/api/endpoint.js';
import type { CancelRequest } from '../../command/orders/cancel-order.js';
import type { ErrorCode } from '../../engine/records/errors.js';
import {
  START_MS, START_S, alice, bob, orderWorld, domain, marketId, otherMarketId, recorded, refused, signedBody, signedCancel,
  type OrderWorld, type Fields,
} from '../harness/order-world.js';
import { newCommand } from '../support/commands.js';

const unsigned = { signature: undefined, deadline: undefined };
const hashIn = ({ body }: Reply) => (JSON.parse(body) as { orderHash: string }).orderHash;
const cancelled = (orderHash: string, filledSize: string, remainingSize: string) =>
  `{"status":"cancelled","orderHash":"${orderHash}","filledSize":${filledSize},"remainingSize":${remainingSize}}`;

describe('cancelling an order', () => {
  let stack: OrderWorld;
  let orderHash: string;
  beforeEach(async () => {
    stack = await orderWorld();
    orderHash = hashIn(await stack.place(await signedBody({ size: 25 })));
  });

  it('records the trader\'s signature and answers with what was and was not filled', async () => {
    await stack.place(await signedBody({ side: 1, size: 10 }, bob));
    const request = await signedCancel(orderHash);
    assert.deepEqual(await stack.cancel(request), { body: cancelled(orderHash, '10', '15'), position: 4 });
    assert.deepEqual(stack.commands[4], newCommand('CancelOrder', {
      at: START_MS, orderHash, marketId, trader: alice.address.toLowerCase(), signature: request.signature!, deadline: String(START_S + 60),
    }));
  });

  it('needs no signature where anybody may cancel, and records none', async () => {
    assert.deepEqual(await stack.cancelOpen({ orderHash, marketId, side: 'buy', ...unsigned }), { body: cancelled(orderHash, '0', '25'), position: 3 });
    assert.deepEqual(stack.commands[3], newCommand('CancelOrder', { at: START_MS, orderHash, marketId, side: 0 }));
  });

  it('checks a signature that comes where none is needed', async () => {
    await refused(stack.cancelOpen(await signedCancel(orderHash, { wallet: bob })), 'invalid_cancel_signature', ['X-Cancel-Signature']);
    await refused(stack.cancelOpen({ orderHash, marketId, side: undefined, signature: undefined, deadline: '1' }), 'cancel_signature_required');
    await stack.cancelOpen(await signedCancel(orderHash));
    assert.equal((stack.commands[3] as Fields)['trader'], alice.address.toLowerCase());
  });

  it('answers alike when it is cancelled already, without another command', async () => {
    const first = await stack.cancel(await signedCancel(orderHash));
    assert.deepEqual(await stack.cancel(await signedCancel(orderHash)), first);
    assert.equal(stack.commands.length, 4);
  });

  it('answers alike when it was cancelled since the endpoint looked', async () => {
    await stack.place(await signedBody({ side: 1, size: 10 }, bob));
    stack.beforeSubmit = () => { stack.run(newCommand('CancelOrder', { at: START_MS, orderHash, marketId })); };
    assert.deepEqual(await stack.cancel(await signedCancel(orderHash)), { body: cancelled(orderHash, '10', '15'), position: 5 });
    assert.deepEqual(stack.outcomes[5]!.events.map(({ type }) => type), ['CancelRepeated']);
  });

  it('writes sizes beyond 2^53 exactly', async () => {
    const size = '18446744073709551615';
    const large = hashIn(await stack.place(await signedBody({ size, nonce: 2 })));
    await stack.place(await signedBody({ side: 1, size: 26 }, bob));
    assert.equal((await stack.cancel(await signedCancel(large))).body, cancelled(large, '1', '18446744073709551614'));
  });

  it('takes the hash and the market in any case, and the side by its name', async () => {
    const upper = (hex: string) => hex.toUpperCase().replace('0X', '0x');
    const request = await signedCancel(orderHash);
    const answer = await stack.cancel({ ...request, orderHash: upper(orderHash), marketId: upper(marketId), side: 'BUY', signature: upper(request.signature!) });
    assert.equal(answer.body, cancelled(orderHash, '0', '25'));
  });
});

describe('a cancel that is refused', () => {
  let stack: OrderWorld;
  let orderHash: string;
  let good: CancelRequest;
  beforeEach(async () => {
    stack = await orderWorld();
    orderHash = hashIn(await stack.place(await signedBody({ size: 25 })));
    good = await signedCancel(orderHash);
  });

  it('is so for the first fault: hash, market, side, missing signature, unknown order, signature', async () => {
    const faults: [keyof CancelRequest, string | undefined, ErrorCode, string[]][] = [
      ['orderHash', '0x12', 'invalid_order_hash', ['/hash']],
      ['marketId', undefined, 'invalid_market_id', ['/marketId']],
      ['side', 'both', 'invalid_request', ['/side']],
      ['signature', undefined, 'cancel_signature_required', []],
    ];
    while (faults.length > 0) {
      const bad = Object.fromEntries(faults.map(([name, value]) => [name, value]));
      await refused(stack.cancel({ ...good, ...bad }), faults[0]![2], faults[0]![3]);
      faults.shift();
    }
    const other = await signedCancel(orderHash, { wallet: bob });
    await refused(stack.cancel({ ...other, side: 'sell' }), 'unknown_order');
    await refused(stack.cancel(other), 'invalid_cancel_signature', ['X-Cancel-Signature']);
    assert.equal(stack.commands.length, 3, 'no command was written');
    assert.equal((await stack.cancel(good)).position, 3);
  });

  for (const [name, change] of [
    ['of an unknown order', { orderHash: `0x${'ab'.repeat(32)}` }], ['in another market', { marketId: otherMarketId }],
    ['in an unknown market', { marketId: `0x${'ab'.repeat(32)}` }], ['on the other side', { side: 'sell' }],
  ] as const) {
    it(`is one ${name}`, async () => {
      await refused(stack.cancel({ ...good, ...change }), 'unknown_order');
      await refused(stack.cancelOpen({ ...good, ...change, ...unsigned }), 'unknown_order');
    });
  }

  for (const [field, values] of [
    ['orderHash', ['', '0x', 'ab'.repeat(32), `0x${'ab'.repeat(31)}`, `0x${'ab'.repeat(33)}`, `0x${'zz'.repeat(32)}`, `0X${'ab'.repeat(32)}`]],
    ['marketId', ['', '0x', 'ab'.repeat(32), `0x${'ab'.repeat(33)}`]],
    ['side', ['', '0', '1', 'bid', 'buy ', 'buysell']],
  ] as const) {
    it(`has a malformed ${field}`, async () => {
      const code = { orderHash: 'invalid_order_hash', marketId: 'invalid_market_id', side: 'invalid_request' } as const;
      for (const value of values) await refused(stack.cancel({ ...good, [field]: value }), code[field], [field === 'orderHash' ? '/hash' : `/${field}`]);
    });
  }

  it('has only one of the two headers, or none', async () => {
    for (const change of [{ signature: undefined }, { deadline: undefined }, unsigned]) {
      await refused(stack.cancel({ ...good, ...change }), 'cancel_signature_required');
    }
  });

  it('has malformed headers', async () => {
    for (const signature of ['', '0x', good.signature!.slice(0, -2), `${good.signature}00`, good.signature!.slice(2)]) {
      await refused(stack.cancel({ ...good, signature }), 'invalid_cancel_signature', ['X-Cancel-Signature']);
    }
    for (const deadline of ['', '-1', '1.5', 'soon', '01', '18446744073709551616']) {
      await refused(stack.cancel({ ...good, deadline }), 'invalid_cancel_signature', ['X-Cancel-Deadline']);
    }
  });

  it('comes when its deadline\'s second has begun', async () => {
    stack.clock.atMs = START_MS + 60_000;
    await refused(stack.cancel(good), 'invalid_cancel_signature', ['X-Cancel-Deadline']);
    stack.clock.atMs -= 1;
    assert.equal((await stack.cancel(good)).body, cancelled(orderHash, '0', '25'));
  });

  it('is signed for another order or deadline, or by nobody', async () => {
    const second = hashIn(await stack.place(await signedBody({ nonce: 2 })));
    for (const change of [{ orderHash: second }, { deadline: String(START_S + 61) }, { signature: `0x${'00'.repeat(65)}` }]) {
      const error = await refused(stack.cancel({ ...good, ...change }), 'invalid_cancel_signature', ['X-Cancel-Signature']);
      assert.deepEqual(error.extra['domain'], domain);
    }
  });

  it('is of an order that is filled', async () => {
    await stack.place(await signedBody({ side: 1, size: 25 }, bob));
    await refused(stack.cancel(good), 'already_filled');
  });

  it('does not take an order\'s own signature for a cancel\'s', async () => {
    const { signature } = JSON.parse((await signedBody({ size: 25 })).toString()) as { signature: string };
    await refused(stack.cancel({ ...good, signature }), 'invalid_cancel_signature', ['X-Cancel-Signature']);
  });
});

describe('cancelling an order that only the read models still know', () => {
  const orderHash = `0x${'ab'.repeat(32)}`;
  const known = { orderNumber: 1, size: 30n, remaining: 12n, closedPosition: 77 };
  let stack: OrderWorld;
  beforeEach(async () => { stack = await orderWorld(); });

  it('answers from them when it was cancelled, to its trader', async () => {
    stack.readModel.set(orderHash, recorded({ ...known, status: 'cancelled' }));
    assert.deepEqual(await stack.cancel(await signedCancel(orderHash)), { body: cancelled(orderHash, '18', '12'), position: 77 });
    await refused(stack.cancel(await signedCancel(orderHash, { wallet: bob })), 'invalid_cancel_signature', ['X-Cancel-Signature']);
    assert.equal(stack.commands.length, 2);
  });

  it('refuses when it was filled', async () => {
    stack.readModel.set(orderHash, recorded({ ...known, status: 'filled', remaining: 0n }));
    await refused(stack.cancel(await signedCancel(orderHash)), 'already_filled');
  });

  it('asks again when they have not heard of its end', async () => {
    stack.readModel.set(orderHash, recorded({ ...known, status: 'open' }));
    await refused(stack.cancel(await signedCancel(orderHash)), 'unavailable');
  });
});
