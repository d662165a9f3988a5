/** Requests that the replica can answer are not written to the log: repeats, taken and cancelled nonces, closed markets, cancels of closed orders. */
import assert from 'node:assert/strict';
import type { Reply } from '../../service/api/endpoint.js';
import { viewOf } from '../../engine/run/view.js';
import { RequestError } from '../../engine/records/errors.js';
import {
  START_MS, START_S, alice, bob, orderWorld, domain, marketId, otherMarketId, recorded, refused, signOrder, anOrder, bodyOf, signedBody, signedCancel,
  type OrderWorld,
} from '../harness/order-world.js';
import { newCommand } from '../support/commands.js';

const MANY = 1_000;
const hashIn = ({ body }: Reply) => (JSON.parse(body) as { orderHash: string }).orderHash;
const statusIn = ({ body }: Reply) => (JSON.parse(body) as { orderStatus?: string }).orderStatus;
const many = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: MANY }, work));

describe('requests that the replica can answer', () => {
  let stack: OrderWorld;
  let body: Buffer;
  beforeEach(async () => {
    stack = await orderWorld();
    body = await signedBody({ size: 25 });
  });

  /** Fails unless the work writes this number of commands. */
  async function writes(count: number, work: () => Promise<unknown>): Promise<void> {
    const before = stack.commands.length;
    await work();
    assert.equal(stack.commands.length - before, count);
  }

  it('a thousand repeats of an order write nothing, one after the other or at once', async () => {
    const first = await stack.place(body);
    await writes(0, async () => {
      for (let i = 0; i < MANY; i++) assert.equal((await stack.place(body)).position, first.position);
      const answers = await many(() => stack.place(body));
      assert.deepEqual(new Set(answers.map((each) => JSON.stringify(each))).size, 1);
    });
  });

  it('a new order a thousand times at once is written once', async () => {
    await writes(1, async () => {
      const answers = await many(() => stack.place(body));
      assert.deepEqual([...new Set(answers.map(({ headers }) => headers?.['Idempotent-Replayed']))], [undefined, 'true']);
      assert.equal(new Set(answers.map(hashIn)).size, 1);
    });
  });

  it('a repeat tells what has become of the order since', async () => {
    const orderHash = hashIn(await stack.place(body));
    assert.equal(statusIn(await stack.place(body)), 'open');
    await stack.cancel(await signedCancel(orderHash));
    assert.equal(statusIn(await stack.place(body)), 'cancelled');
    const taken = await signedBody({ nonce: 2, size: 1 });
    await stack.place(taken);
    await stack.place(await signedBody({ side: 1, size: 1 }, bob));
    assert.equal(statusIn(await stack.place(taken)), 'filled');
  });

  it('a repeat with a wrong signature gets no answer but invalid_signature', async () => {
    await stack.place(body);
    const order = anOrder({ size: 25 });
    await writes(0, async () => {
      for (const signature of [await signOrder(order, bob), '0x']) await refused(stack.place(bodyOf({ order, signature })), 'invalid_signature', ['/signature']);
    });
  });

  it('a repeat needs no permit that is still good', async () => {
    const first = await stack.place(body);
    const permitSignature = { nonce: 3, value: '1', deadline: START_S - 1, v: 27, r: `0x${'aa'.repeat(32)}`, s: `0x${'0b'.repeat(32)}` };
    assert.equal((await stack.place(bodyOf({ ...JSON.parse(body.toString()) as object, permitSignature }))).position, first.position);
  });

  it('a taken nonce is refused as by the engine, a thousand times at once too', async () => {
    await stack.place(body);
    const other = await signedBody({ size: 26 });
    await writes(0, async () => {
      const faults = await many(() => stack.place(other).catch((error: unknown) => error as RequestError));
      for (const fault of faults) {
        assert.ok(fault instanceof RequestError);
        assert.deepEqual([fault.code, fault.detail], ['duplicate_nonce', '']);
      }
    });
  });

  it('of two new orders with one nonce at the same time, one is written and the other one refused', async () => {
    await writes(1, async () => {
      const both = await Promise.allSettled([stack.place(body), stack.place(await signedBody({ size: 26 }))]);
      assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    });
  });

  it('a nonce below the floor, and a market past its expiration', async () => {
    stack.run(newCommand('CancelOrdersBelow', {
      at: START_MS, chainId: domain.chainId, trader: alice.address.toLowerCase(), belowNonce: '5',
      fact: { chainId: domain.chainId, block: 1, logIndex: 0 },
    }));
    await writes(0, async () => {
      await refused(stack.place(await signedBody({ nonce: 4 })), 'nonce_cancelled');
      stack.clock.atMs = START_MS + 86_400_000;
      await refused(stack.place(await signedBody({ nonce: 5, expiration: START_S + 100_000 })), 'market_closed');
    });
  });

  it('an order that is too late for the engine\'s time, whose clock may be ahead: accepted before or not', async () => {
    const first = await stack.place(body);
    stack.run(newCommand('CancelOrder', { at: START_MS, orderHash: hashIn(first), marketId }));
    stack.run(newCommand('AdvanceClock', { at: START_MS + 3_600_000 }));
    assert.equal(viewOf(stack.engine).order(hashIn(first)), undefined, 'the engine has forgotten the order');
    await writes(0, async () => {
      await refused(stack.place(body), 'invalid_expiration');
      stack.readModel.set(hashIn(first), recorded({ orderNumber: first.position!, status: 'cancelled' }));
      assert.deepEqual([(await stack.place(body)).position, statusIn(await stack.place(body))], [first.position, 'cancelled']);
      // A read model that lags does not know yet how the order ended, so nothing is said of it.
      stack.readModel.set(hashIn(first), recorded({ orderNumber: first.position! }));
      assert.deepEqual([(await stack.place(body)).position, statusIn(await stack.place(body))], [first.position, undefined]);
    });
  });

  it('a cancel a thousand times at once is written once, and of a closed or unknown order not at all', async () => {
    const cancel = await signedCancel(hashIn(await stack.place(body)));
    await writes(1, async () => {
      const answers = await many(() => stack.cancel(cancel));
      assert.equal(new Set(answers.map((each) => JSON.stringify(each))).size, 1);
    });
    const filled = await signedCancel(hashIn(await stack.place(await signedBody({ nonce: 2, size: 1 }))));
    await stack.place(await signedBody({ side: 1, size: 1 }, bob));
    await writes(0, async () => {
      await refused(stack.cancel(filled), 'already_filled');
      await refused(stack.cancel({ ...filled, marketId: otherMarketId }), 'unknown_order');
      await refused(stack.cancel(await signedCancel(`0x${'ab'.repeat(32)}`)), 'unknown_order');
    });
  });

  it('a cancel of an order that the engine has forgotten, while the read model lags', async () => {
    const orderHash = `0x${'ab'.repeat(32)}`;
    stack.readModel.set(orderHash, recorded({}));
    await writes(0, async () => { await refused(stack.cancel(await signedCancel(orderHash)), 'unavailable'); });
  });
});

describe('a process whose replica lags', () => {
  it('writes an order that it does not know yet once, whatever comes until then, and then never again', async () => {
    const [first, lagging] = [await orderWorld(), await orderWorld()];
    // The replica comes to the other process's commands when it waits for the outcome of a command of its own.
    lagging.beforeSubmit = () => { for (const command of first.commands.slice(lagging.commands.length)) lagging.run(command); };
    const [body, other] = [await signedBody({ size: 25 }), await signedBody({ size: 26 })];
    const { position } = await first.place(body);
    const answers = await many(() => lagging.place(body));
    assert.deepEqual([...new Set(answers.map((each) => `${each.position} ${each.headers?.['Idempotent-Replayed']} ${statusIn(each)}`))], [`${position} true open`]);
    assert.equal(lagging.commands.length, first.commands.length + 1);
    await refused(lagging.place(other), 'duplicate_nonce');
    assert.equal(lagging.commands.length, first.commands.length + 1);
  });
});

describe('an order on its way, and the same one again', () => {
  it('share the error when the log does not answer; another order with the nonce is not taken meanwhile', async () => {
    const stack = await orderWorld();
    const [body, other] = [await signedBody({ size: 25 }), await signedBody({ size: 26 })];
    stack.beforeSubmit = () => { throw new RequestError('outcome_unknown', 'the log did not answer'); };
    const both = [stack.place(body), stack.place(body), stack.place(other)];
    const faults = await Promise.all(both.map((each) => each.catch((error: unknown) => (error as RequestError).code)));
    assert.deepEqual(faults, ['outcome_unknown', 'outcome_unknown', 'unavailable']);
    stack.beforeSubmit = () => undefined;
    assert.equal((await stack.place(other)).headers, undefined);
  });

  it('do not share a withdrawal: when the first client has gone, the second one\'s order goes', async () => {
    const stack = await orderWorld();
    const body = await signedBody({ size: 25 });
    const gone = new AbortController();
    stack.beforeSubmit = () => {
      stack.beforeSubmit = () => undefined;
      gone.abort();
      throw new RequestError('overloaded', 'the request was withdrawn because the client disconnected');
    };
    const first = stack.place(body, gone.signal);
    const second = stack.place(body);
    await refused(first, 'overloaded');
    assert.equal((await second).headers, undefined);
  });
});

describe('limits of orders', () => {
  it('a trader has at most so many open orders, in all markets together, those on their way included', async () => {
    const stack = await orderWorld({ maxOpenOrders: 3 });
    const bodies = await Promise.all([1, 2, 3, 4, 5].map((nonce) =>
      signedBody({ nonce, size: 10, price: nonce, marketId: nonce % 2 === 0 ? otherMarketId : marketId })));
    const answers = await Promise.allSettled(bodies.map((each) => stack.place(each)));
    assert.deepEqual(answers.map(({ status }) => status), ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected']);
    assert.equal(stack.commands.length, 5);
    const fault = await refused(stack.place(bodies[4]!), 'too_many_open_orders');
    assert.deepEqual([fault.isUnavailable, fault.extra], [false, { openOrders: 3, maxOpenOrders: 3 }]);
    assert.equal(statusIn(await stack.place(bodies[0]!)), 'open', 'a repeat adds no order');
    await stack.place(await signedBody({ side: 1, size: 10, price: 3 }, bob));
    assert.equal((await stack.place(bodies[4]!)).headers, undefined, 'a filled order makes room');
    await refused(stack.place(bodies[3]!), 'too_many_open_orders');
    await stack.cancel(await signedCancel(hashIn(await stack.place(bodies[0]!))));
    assert.equal((await stack.place(bodies[3]!)).headers, undefined, 'and a cancelled one');
  });

  it('an order has at least the chain\'s smallest size; a repeat of one that was taken before is not asked again', async () => {
    const stack = await orderWorld({ minSize: 1_000_000 });
    const fault = await refused(stack.place(await signedBody({ size: 999_999 })), 'size_too_small', ['/order/size']);
    assert.deepEqual([fault.isUnavailable, fault.extra, fault.reason], [
      false, { minOrderSize: 1_000_000 }, `/order/size must be 1000000 or more on chain ${domain.chainId}, but is 999999`,
    ]);
    assert.equal(stack.commands.length, 2);
    await stack.place(await signedBody({ size: 1_000_000 }));
    assert.equal(stack.commands.length, 3);
    const large = await orderWorld({ minSize: Number.MAX_SAFE_INTEGER });
    await large.place(await signedBody({ size: 2n ** 64n - 1n }));
  });
});
