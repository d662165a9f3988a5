/** The requests about several orders of a trader, or all of them, on a bare engine: answers, repeats, authority, and what leaves a record. */
import assert from 'node:assert/strict';
import { TypedDataEncoder } from 'ethers';
import type { Reply } from '../../service/api/endpoint.js';
import { orderTypes } from '../../command/signing/typed-data.js';
import { ALL_MARKETS } from '../../engine/records/fields.js';
import { viewOf } from '../../engine/run/view.js';
import {
  START_MS, START_S, alice, anOrder, bob, bodyOf, orderWorld, domain, marketId, otherMarketId, refused, signOrder, signedBody, signedRequest,
  type OrderWorld, type Fields,
} from '../harness/order-world.js';
import { newCommand } from '../support/commands.js';

interface Result { readonly status: number; readonly body: Fields }
const deadline = START_S + 60;
const trader = alice.address;
const owner = trader.toLowerCase();
const fieldsIn = ({ body }: Reply) => JSON.parse(body) as Fields;
const resultsIn = ({ body }: Reply) => (JSON.parse(body) as { results: Result[] }).results;
const hashOf = (order: Fields) => TypedDataEncoder.hash(domain, { Order: [...orderTypes.Order] }, order);

describe('requests about orders', () => {
  let stack: OrderWorld;
  beforeEach(async () => { stack = await orderWorld(); });

  async function place(fields: Fields = {}, wallet = alice): Promise<string> {
    return fieldsIn(await stack.place(await signedBody({ nonce: stack.commands.length, ...fields }, wallet)))['orderHash'] as string;
  }

  /** Fails unless the work writes this number of commands. */
  async function writes<T>(count: number, work: () => Promise<T>): Promise<T> {
    const before = stack.commands.length;
    const result = await work();
    assert.equal(stack.commands.length - before, count);
    return result;
  }

  describe('cancelling several', () => {
    const cancel = async (orderHashes: readonly string[], wallet = alice) => (
      stack.requests.cancelOrders(await signedRequest('CancelOrders', { orderHashes, trader: wallet.address, deadline }, { wallet })));

    it('answers for each as a single cancel would be answered, by one record, and again without one', async () => {
      const [open, partly] = [await place(), await place({ price: 630_000, size: 30 })];
      const [filled, other] = [await place({ price: 640_000, size: 10 }), await place({}, bob)];
      await place({ side: 1, price: 630_000, size: 20 }, bob);
      const unknown = `0x${'9'.repeat(64)}`;
      const first = await writes(1, () => cancel([open, partly, filled, other, unknown, open]));
      assert.deepEqual(resultsIn(first).map(({ status, body }) => [status, body['status'] === 'cancelled' ? 'cancelled' : body['code'], body['remainingSize']]), [
        [200, 'cancelled', 25_000_000], [200, 'cancelled', 20], [409, 'already_filled', undefined], [403, 'not_order_owner', undefined],
        [404, 'unknown_order', undefined], [200, 'cancelled', 25_000_000],
      ]);
      assert.deepEqual([first.position, stack.commands.at(-1)?.kind], [stack.commands.length - 1, 'CancelOrders']);
      assert.equal((await writes(0, () => cancel([open, partly, filled, other, unknown, open]))).body, first.body);
    });

    it('finds an order that another process has taken', async () => {
      const order = anOrder({ nonce: 77 });
      const signature = await signOrder(order);
      const orderHash = hashOf(order);
      stack.behind.push(newCommand('PlaceOrder', {
        at: START_MS, orderHash, marketId, trader: owner, side: 0, outcome: 0, price: 620_000, size: '25000000', nonce: '77',
        expiration: String(START_S + 3_600), signature,
      }));
      assert.deepEqual(resultsIn(await cancel([orderHash])).map(({ status }) => status), [200]);
    });

    it('records the signature, and needs one where it is required', async () => {
      const hash = await place();
      await refused(stack.requests.cancelOrders(bodyOf({ trader, orderHashes: [hash] })), 'signature_required');
      await refused(stack.requests.cancelOrders(bodyOf({ trader, orderHashes: [hash], deadline })), 'signature_required');
      await refused(stack.requests.cancelOrders(await signedRequest('CancelOrders', { orderHashes: [hash], trader, deadline }, { wallet: bob })),
        'invalid_request_signature', ['/signature']);
      await refused(stack.requests.cancelOrders(await signedRequest('CancelOrders', { orderHashes: [hash], trader, deadline: START_S })),
        'invalid_request_signature', ['/deadline']);
      await cancel([hash]);
      const { signature, deadline: recorded, trader: by } = stack.commands.at(-1) as unknown as Fields;
      assert.deepEqual([typeof signature, recorded, by], ['string', String(deadline), owner]);
    });

    it('needs no signature where CANCEL_AUTH is open', async () => {
      const hash = await place();
      assert.deepEqual(resultsIn(await stack.open.cancelOrders(bodyOf({ trader, orderHashes: [hash] }))).map(({ status }) => status), [200]);
      assert.equal('signature' in stack.commands.at(-1)!, false);
    });

    it('of an order that another cancel closes at the same moment, tells how it ended', async () => {
      const [one, two] = [await place(), await place({ price: 610_000 })];
      let once = true;
      stack.beforeSubmit = () => {
        if (once) stack.run(newCommand('CancelOrder', { at: START_MS, orderHash: one, marketId }));
        once = false;
      };
      assert.deepEqual(resultsIn(await cancel([one, two])).map(({ status, body }) => [status, body['status']]), [[200, 'cancelled'], [200, 'cancelled']]);
    });
  });

  describe('cancelling all', () => {
    const cancelAll = async (market: string, until = deadline) => (
      stack.requests.cancelAll(await signedRequest('CancelAll', { trader, marketId: market, deadline: until })));

    it('takes effect once: the same request again gets the first answer, and leaves what is new alone', async () => {
      await place();
      await place({ marketId: otherMarketId });
      const first = await writes(1, () => cancelAll(ALL_MARKETS));
      assert.deepEqual(fieldsIn(first), { status: 'cancelled', trader: owner, chainId: domain.chainId, marketId: ALL_MARKETS, cancelled: 2 });
      const later = await place();
      const again = await writes(0, () => cancelAll(ALL_MARKETS));
      assert.deepEqual([again.body, again.position, again.headers], [first.body, first.position, { 'Idempotent-Replayed': 'true' }]);
      assert.equal(viewed(later), 'open');
      assert.equal(fieldsIn(await writes(1, () => cancelAll(ALL_MARKETS, deadline + 1)))['cancelled'], 1);
    });

    it('is of one market where one is named, and writes nothing where there is nothing', async () => {
      const [here, there] = [await place(), await place({ marketId: otherMarketId })];
      await writes(1, () => cancelAll(marketId));
      assert.deepEqual([viewed(here), viewed(there)], ['cancelled', 'open']);
      assert.equal(fieldsIn(await writes(0, () => cancelAll(marketId, deadline + 1)))['cancelled'], 0);
      await refused(cancelAll(`0x${'1'.repeat(64)}`), 'unknown_market');
    });

    it('counts an order whose fill is unsettled as one that may come back', async () => {
      await place({ size: 10 });
      await place({ side: 1, size: 10 }, bob);
      assert.equal(fieldsIn(await writes(1, () => cancelAll(marketId)))['cancelled'], 0);
    });

    it('cancels an order that another process has taken a moment ago', async () => {
      const order = anOrder({ nonce: 78 });
      const signature = await signOrder(order);
      stack.behind.push(newCommand('PlaceOrder', {
        at: START_MS, orderHash: hashOf(order), marketId, trader: owner, side: 0, outcome: 0, price: 620_000, size: '25000000', nonce: '78',
        expiration: String(START_S + 3_600), signature,
      }));
      assert.equal(fieldsIn(await cancelAll(ALL_MARKETS))['cancelled'], 1);
    });

    it('many times at once is written once', async () => {
      await place();
      const body = await signedRequest('CancelAll', { trader, marketId: ALL_MARKETS, deadline });
      const answers = await writes(1, () => Promise.all(Array.from({ length: 20 }, () => stack.requests.cancelAll(body))));
      assert.equal(new Set(answers.map((answer) => answer.body)).size, 1);
    });
  });

  describe('the switch', () => {
    const ask = async (seconds: number, until = deadline) => (
      stack.requests.cancelAfter(await signedRequest('CancelAfter', { trader, seconds, deadline: until })));

    it('is armed by each request anew, and disarmed once', async () => {
      const first = await writes(1, () => ask(30));
      assert.deepEqual(fieldsIn(first), { status: 'armed', trader: owner, chainId: domain.chainId, cancelAt: START_MS + 30_000 });
      stack.clock.atMs += 5_000;
      assert.equal(fieldsIn(await writes(1, () => ask(30)))['cancelAt'], START_MS + 35_000);
      const off = await writes(1, () => ask(0, deadline + 1));
      assert.deepEqual([fieldsIn(off)['status'], fieldsIn(off)['cancelAt']], ['disarmed', null]);
      assert.equal((await writes(0, () => ask(0, deadline + 1))).body, off.body);
      await writes(1, () => ask(0, deadline + 2));
    });

    it('heeds no request that is older than one that took effect', async () => {
      await ask(30, deadline + 1);
      await refused(ask(0), 'outdated_request');
    });

    it('cancels by the clock of the history', async () => {
      const hash = await place();
      await ask(30);
      stack.run(newCommand('AdvanceClock', { at: START_MS + 30_000 }));
      assert.equal(viewed(hash), 'cancelled');
    });

    it('takes seconds of 32 bits, and no others', async () => {
      for (const seconds of [-1, 1.5, 4_294_967_296, 'soon', null]) {
        await refused(stack.requests.cancelAfter(bodyOf({ trader, seconds, deadline, signature: `0x${'1'.repeat(130)}` })), 'invalid_request', ['/seconds']);
      }
      assert.equal(fieldsIn(await ask(4_294_967_295))['cancelAt'], START_MS + 4_294_967_295_000);
    });
  });

  describe('reducing', () => {
    const reduce = async (orderHash: string, size: unknown, wallet = alice) => (
      stack.requests.reduceOrder(orderHash, await signedRequest(
        'ReduceOrder', { orderHash, trader: wallet.address, size, deadline }, { wallet, without: ['orderHash', 'trader'] })));

    it('makes the order smaller, and again changes nothing and writes nothing', async () => {
      const hash = await place({ size: 100 });
      const first = await writes(1, () => reduce(hash, 40));
      assert.deepEqual(fieldsIn(first), { status: 'reduced', orderHash: hash, size: 40 });
      assert.equal((await writes(0, () => reduce(hash.toUpperCase().replace('0X', '0x'), '40'))).body, first.body);
      const { signature, trader: by, size } = stack.commands.at(-1) as unknown as Fields;
      assert.deepEqual([typeof signature, by, size], ['string', owner, '40']);
    });

    it('cancels the rest where at least as much is filled, and says so again', async () => {
      const hash = await place({ size: 100 });
      await place({ side: 1, size: 60 }, bob);
      const first = await writes(1, () => reduce(hash, 50));
      assert.deepEqual(fieldsIn(first), { status: 'cancelled', orderHash: hash, filledSize: 60, remainingSize: 40 });
      assert.equal((await writes(0, () => reduce(hash, 50))).body, first.body);
      await writes(0, () => refused(reduce(hash, 61), 'already_cancelled'));
    });

    it('refuses without a record what cannot be', async () => {
      const hash = await place({ size: 100 });
      await writes(0, async () => {
        await refused(reduce(hash, 101), 'not_reduced');
        await refused(reduce(hash, 0), 'invalid_size', ['/size']);
        await refused(reduce(hash, 50, bob), 'invalid_request_signature', ['/signature']);
        await refused(reduce(`0x${'7'.repeat(64)}`, 50), 'unknown_order');
        await refused(stack.requests.reduceOrder('0x12', bodyOf({ size: 1 })), 'invalid_order_hash', ['/hash']);
        await refused(stack.requests.reduceOrder(hash, bodyOf({ size: 50 })), 'signature_required');
      });
      await place({ side: 1, size: 100 }, bob);
      await writes(0, () => refused(reduce(hash, 50), 'already_filled'));
    });

    it('to less than a fill at the same moment leaves, cancels the rest', async () => {
      const hash = await place({ size: 100 });
      let once = true;
      stack.beforeSubmit = () => {
        if (once) {
          stack.run(newCommand('PlaceOrder', {
            at: START_MS, orderHash: `0x${'e'.repeat(64)}`, marketId, trader: bob.address.toLowerCase(), side: 1, outcome: 0,
            price: 620_000, size: '80', nonce: '500', expiration: String(START_S + 3_600), signature: `0x${'1'.repeat(130)}`,
          }));
        }
        once = false;
      };
      assert.deepEqual(fieldsIn(await reduce(hash, 70)), { status: 'cancelled', orderHash: hash, filledSize: 80, remainingSize: 20 });
    });
  });

  describe('their bodies', () => {
    const whole = { trader, orderHashes: [`0x${'1'.repeat(64)}`], marketId, seconds: 1, deadline, signature: `0x${'1'.repeat(130)}` };
    const wrong: [name: keyof OrderWorld['requests'] & ('cancelOrders' | 'cancelAll' | 'cancelAfter'), fields: Fields, code: 'invalid_address', field: string][] = ([
      ['cancelOrders', { trader: '0x1' }, 'invalid_address', '/trader'], ['cancelOrders', { orderHashes: [] }, 'invalid_order_hash', '/orderHashes'],
      ['cancelOrders', { orderHashes: ['0x1'] }, 'invalid_order_hash', '/orderHashes'],
      ['cancelOrders', { orderHashes: Array.from({ length: 101 }, () => whole.orderHashes[0]) }, 'invalid_order_hash', '/orderHashes'],
      ['cancelOrders', { fee: 1 }, 'invalid_request', '/fee'], ['cancelOrders', { chainId: 0 }, 'invalid_chain_id', '/chainId'],
      ['cancelOrders', { chainId: 5 }, 'unknown_chain', '/chainId'], ['cancelOrders', { signature: '0x1' }, 'invalid_request_signature', '/signature'],
      ['cancelOrders', { deadline: -1 }, 'invalid_request', '/deadline'],
      ['cancelAll', { marketId: '0x0' }, 'invalid_market_id', '/marketId'], ['cancelAll', { marketId: undefined }, 'invalid_market_id', '/marketId'],
      ['cancelAfter', { seconds: undefined }, 'invalid_request', '/seconds'],
    ] as const) as never;
    const fieldsOf = { cancelOrders: ['trader', 'orderHashes'], cancelAll: ['trader', 'marketId'], cancelAfter: ['trader', 'seconds'] };
    for (const [name, changes, code, field] of wrong) {
      it(`${name} refuses ${Object.entries(changes).map(([key, value]) => `${key} ${String(value).slice(0, 20)}`).join()} with ${code}`, async () => {
        const own = Object.fromEntries(Object.entries(whole).filter(([key]) => [...fieldsOf[name], 'deadline', 'signature'].includes(key)));
        await refused(stack.requests[name](bodyOf({ ...own, ...changes })), code, [field]);
      });
    }
  });

  const viewed = (orderHash: string) => viewOf(stack.engine).order(orderHash)?.status;
});
