/** `POST /api/v1/orders/batch` on a bare engine: each result is what a single request would have been answered with, and all are one append. */
import assert from 'node:assert/strict';
import type { Reply } from '../../service/api/endpoint.js';
import type { RequestError } from '../../engine/records/errors.js';
import { problemOf } from '../../service/api/problems.js';
import {
  alice, anOrder, bob, bodyOf, orderWorld, refused, signOrder, signedBody, type OrderWorld, type Fields,
} from '../harness/order-world.js';

interface Result { readonly status: number; readonly body: Fields }
const resultsIn = ({ body }: Reply) => (JSON.parse(body) as { results: Result[] }).results;

async function signed(fields: Fields = {}, terms: Fields = {}, wallet = alice): Promise<Fields> {
  const order = anOrder({ trader: wallet.address, ...fields });
  return { order, signature: await signOrder(order, wallet), ...terms };
}

/** What each of these bodies is answered with, one after the other, by a stack of their own. */
async function singly(bodies: readonly unknown[], prepare: (stack: OrderWorld) => Promise<unknown>): Promise<Result[]> {
  const stack = await orderWorld();
  await prepare(stack);
  const results: Result[] = [];
  for (const body of bodies) {
    results.push(await stack.place(bodyOf(body)).then(
      (answer) => ({ status: 200, body: JSON.parse(answer.body) as Fields }),
      (error: unknown) => {
        const { status, body: problem } = problemOf(error as RequestError);
        return { status, body: JSON.parse(problem) as Fields };
      }));
  }
  return results;
}

for (const recoversLater of [false, true]) describe(`a batch of orders whose signers are recovered ${recoversLater ? 'later' : 'at once'}`, () => {
  const batchWorld = () => orderWorld({ recoversLater });
  const prepare = async (stack: OrderWorld) => stack.place(await signedBody({ side: 1, size: 30, price: 600_000 }, bob));

  it('is answered item by item as single requests would be, whatever is wrong with the others, in one append', async () => {
    const good = await signed({ nonce: 1, size: 10 });
    const bodies = [
      good, await signed({ nonce: 2, size: 10, price: 0 }), 7, null, [], {}, await signed({ nonce: 3, size: 5 }, { timeInForce: 'FAK' }),
      await signed({ nonce: 4, size: 500 }, { timeInForce: 'FOK' }), await signed({ nonce: 5 }, { postOnly: true }), { ...good, extra: 1 },
      { ...good, signature: '0x12' }, { ...await signed({ nonce: 9 }), signature: good['signature'] }, await signed({ nonce: 6, marketId: `0x${'5'.repeat(64)}` }), await signed({ nonce: 7, size: 40 }),
      await signed({ nonce: 8, expiration: 5 }),
    ];
    const stack = await batchWorld();
    await prepare(stack);
    assert.deepEqual(resultsIn(await stack.requests.placeOrders(bodyOf({ orders: bodies }))), await singly(bodies, prepare));
    assert.deepEqual(stack.appends, [1, 5]);
  });

  it('tells the log position by which all accepted orders are in the history, and none where none is', async () => {
    const orders = await Promise.all([1, 2, 3].map((nonce) => signed({ nonce, size: 10 })));
    const stack = await batchWorld();
    const { position: before = NaN } = await prepare(stack);
    const { position } = await stack.requests.placeOrders(bodyOf({ orders: [orders[0], await signed({ nonce: 9, price: 0 }), orders[1]] }));
    assert.equal(position, before + 2);
    const repeated = await stack.requests.placeOrders(bodyOf({ orders: [orders[0]] }));
    assert.equal(repeated.position, before + 1);
    assert.equal((await stack.requests.placeOrders(bodyOf({ orders: [7, { ...orders[2], signature: '0x12' }] }))).position, undefined);
  });

  it('with the same order twice gives the second the answer of a repeat', async () => {
    const order = await signed({ nonce: 1, size: 10 });
    const stack = await batchWorld();
    const results = resultsIn(await stack.requests.placeOrders(bodyOf({ orders: [order, order, order] })));
    assert.deepEqual(results, await singly([order, order, order], () => Promise.resolve()));
    assert.deepEqual([stack.appends, results.map(({ body }) => body['orderStatus'])], [[1], [undefined, 'open', 'open']]);
  });

  it('with two orders of one nonce accepts the first, and the second only if the first is refused', async () => {
    const [first, second] = [await signed({ nonce: 1, size: 10 }), await signed({ nonce: 1, size: 20 })];
    const unfilled = await signed({ nonce: 2, size: 10 }, { timeInForce: 'FOK' });
    const instead = await signed({ nonce: 2, size: 20 });
    const orders = [first, second, unfilled, instead];
    const stack = await batchWorld();
    const results = resultsIn(await stack.requests.placeOrders(bodyOf({ orders })));
    assert.deepEqual(results, await singly(orders, () => Promise.resolve()));
    assert.deepEqual([results.map(({ status }) => status), stack.appends], [[200, 409, 409, 200], [2, 1]]);
  });

  it('is matched in the order of the request', async () => {
    const stack = await batchWorld();
    await prepare(stack);
    const orders = [await signed({ nonce: 1, size: 20 }), await signed({ nonce: 2, size: 20 }), await signed({ nonce: 3, size: 20 })];
    const results = resultsIn(await stack.requests.placeOrders(bodyOf({ orders })));
    assert.deepEqual(results.map(({ body }) => body['matches']), [1, 1, 0]);
    assert.deepEqual(stack.commands.slice(-3).map((command) => (command as unknown as Fields)['nonce']), ['1', '2', '3']);
  });

  it('does not wait for ever on another batch that has the same nonces in the other order', async () => {
    const stack = await batchWorld();
    const [a, b] = [await signed({ nonce: 1, size: 10 }), await signed({ nonce: 2, size: 10 })];
    const both = await Promise.all([[a, b], [b, a]].map((orders) => stack.requests.placeOrders(bodyOf({ orders }))));
    assert.deepEqual(both.map((answer) => resultsIn(answer).map(({ status }) => status)), [[200, 200], [200, 200]]);
    assert.equal(stack.commands.filter(({ kind }) => kind === 'PlaceOrder').length, 2);
  });

  it('has the permit of each order', async () => {
    const stack = await batchWorld();
    const permitSignature = { nonce: 0, value: '1', deadline: 4_000_000_000, v: 27, r: `0x${'1'.repeat(64)}`, s: `0x${'2'.repeat(64)}` };
    await stack.requests.placeOrders(bodyOf({ orders: [{ ...await signed({ nonce: 1 }), permitSignature }, await signed({ nonce: 2 })] }));
    assert.deepEqual(stack.commands.slice(-2).map((command) => 'permit' in command), [true, false]);
  });

  it('is refused as a whole where it is not a list of 1 to 15', async () => {
    const stack = await batchWorld();
    const one = await signed();
    for (const orders of [[], Array.from({ length: 16 }, () => one), {}, undefined, 'all']) {
      await refused(stack.requests.placeOrders(bodyOf({ orders })), 'invalid_request', ['/orders']);
    }
    await refused(stack.requests.placeOrders(bodyOf({ orders: [one], trader: 1 })), 'invalid_request', ['/trader']);
    await refused(stack.requests.placeOrders(Buffer.from('[')), 'invalid_json');
  });
});
