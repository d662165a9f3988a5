/** `POST /api/v1/orders` on a bare engine: answers, repeats, and every refusal in its order. */
import assert from 'node:assert/strict';
import { TypedDataEncoder, Wallet, id } from 'ethers';
import type { Reply } from '../../service/api/endpoint.js';
import { orderTypes } from '../../command/signing/typed-data.js';
import type { ErrorCode } from '../../engine/records/errors.js';
import { LogUnavailable } from '../../engine/log/log.js';
import {
  START_MS, START_S, alice, anOrder, bob, bodyOf, orderWorld, domain, marketId, recorded, refused, signOrder, signedBody,
  type OrderWorld, type Fields,
} from '../harness/order-world.js';
import { newCommand } from '../support/commands.js';

/** The first answer as a repeat gets it: with what has become of the order since. */
const repeated = (first: Reply, orderStatus: string): Reply => ({
  ...first, body: first.body.replace(/}$/, `,"orderStatus":"${orderStatus}"}`), headers: { 'Idempotent-Replayed': 'true' },
});
const hashOf = (order: Fields) => TypedDataEncoder.hash(domain, { Order: [...orderTypes.Order] }, order);

describe('placing an order', () => {
  let stack: OrderWorld;
  beforeEach(async () => { stack = await orderWorld(); });

  it('records the command and answers with the hash that ethers gives', async () => {
    const order = anOrder();
    const signature = await signOrder(order);
    const answer = await stack.place(bodyOf({ order, signature }));
    assert.deepEqual(answer, {
      body: `{"orderHash":"${hashOf(order)}","status":"accepted","matches":0,"timestamp":${START_S}}`, position: 2,
    });
    assert.deepEqual(stack.commands[2], newCommand('PlaceOrder', {
      at: START_MS, orderHash: hashOf(order), marketId, trader: alice.address.toLowerCase(), side: 0, outcome: 0, price: 620_000,
      size: '25000000', nonce: '1', expiration: '1800003600', signature,
    }));
  });

  it('keeps integers beyond 2^53 exactly, as JSON integers and as strings', async () => {
    const order = anOrder({ size: 2n ** 64n - 1n, nonce: '9007199254740993', expiration: 2n ** 64n - 1n });
    const answer = await stack.place(bodyOf({ order, signature: await signOrder(order) }));
    assert.equal((JSON.parse(answer.body) as Fields)['orderHash'], hashOf(order));
    const { size, nonce, expiration } = stack.commands[2] as Fields;
    assert.deepEqual({ size, nonce, expiration }, { size: '18446744073709551615', nonce: '9007199254740993', expiration: '18446744073709551615' });
  });

  it('counts the matches, and takes the second of the outcome for the timestamp', async () => {
    for (const nonce of [1, 2]) await stack.place(await signedBody({ nonce, size: 10 }));
    stack.clock.atMs += 1_999;
    const answer = await stack.place(await signedBody({ side: 1, size: 25 }, bob));
    const { matches, timestamp, status } = JSON.parse(answer.body) as Fields;
    assert.deepEqual({ matches, timestamp, status, position: answer.position }, { matches: 2, timestamp: START_S + 1, status: 'accepted', position: 4 });
  });

  it('takes null for a field that is not there', async () => {
    const order = anOrder();
    const nothing = { permitSignature: null, timeInForce: null, postOnly: null, notAfter: null, selfTrade: null };
    await stack.place(bodyOf({ order, signature: await signOrder(order), ...nothing }));
    const command = stack.commands[2]!;
    assert.deepEqual(Object.keys(nothing).filter((name) => name in command || 'permit' in command), []);
    assert.equal(command.kind, 'PlaceOrder');
  });

  it('takes v of 0 and 1 too, any case, and records one form', async () => {
    const order = anOrder();
    const signature = await signOrder(order);
    const low = signature.slice(0, -2) + (signature.endsWith('1b') ? '00' : '01');
    await stack.place(bodyOf({ order, signature: low.toUpperCase().replace('0X', '0x') }));
    assert.equal((stack.commands[2] as Fields)['signature'], signature);
  });

  it('stores the permit in the form of records', async () => {
    const order = anOrder();
    const permitSignature = { nonce: 3, value: '15500000', deadline: START_S + 600, v: 1, r: `0x${'AA'.repeat(32)}`, s: `0x${'0b'.repeat(32)}` };
    await stack.place(bodyOf({ order, signature: await signOrder(order), permitSignature }));
    assert.deepEqual((stack.commands[2] as Fields)['permit'], {
      nonce: '3', value: '15500000', deadline: String(START_S + 600), v: 28, r: `0x${'aa'.repeat(32)}`, s: `0x${'0b'.repeat(32)}`,
    });
  });
});

describe('placing an order again', () => {
  let stack: OrderWorld;
  let body: Buffer;
  beforeEach(async () => {
    stack = await orderWorld();
    await stack.place(await signedBody({ side: 1, size: 5 }, bob));
    body = await signedBody({ size: 25 });
  });

  it('gets the first answer, whatever has happened to the order since', async () => {
    const first = await stack.place(body);
    stack.clock.atMs += 30_000;
    await stack.place(await signedBody({ side: 1, size: 20, nonce: 2 }, bob));
    assert.equal(JSON.parse(first.body).matches, 1);
    assert.deepEqual(await stack.place(body), repeated(first, 'filled'));
  });

  it('gets it also after the order\'s expiration, from the read models if need be, and without a command', async () => {
    const first = await stack.place(body);
    stack.clock.atMs = START_MS + 3_600_000;
    const before = stack.commands.length;
    assert.deepEqual(await stack.place(body), repeated(first, 'open'));
    const other = await signedBody({ size: 26, nonce: 8 });
    await refused(stack.place(other), 'invalid_expiration', ['/order/expiration']);
    const orderHash = hashOf(anOrder({ size: 26, nonce: 8 }));
    stack.readModel.set(orderHash, recorded({ orderNumber: 3, size: 26n, remaining: 0n, status: 'filled' }));
    assert.equal((await stack.place(other)).body, repeated(first, 'filled').body.replace(hashOf(anOrder({ size: 25 })), orderHash));
    assert.equal(stack.commands.length, before);
  });

  it('needs the signature also after the expiration', async () => {
    await stack.place(body);
    stack.clock.atMs = START_MS + 3_600_000;
    const order = anOrder({ size: 25 });
    for (const signature of [undefined, '0x', await signOrder(order, bob), `0x${'00'.repeat(65)}`]) {
      await refused(stack.place(bodyOf({ order, signature })), 'invalid_expiration', ['/order/expiration']);
    }
  });

  it('says that it was accepted when the log cannot give the first answer', async () => {
    await stack.place(body);
    stack.originalOutcome = () => Promise.reject(new LogUnavailable(false));
    const error = await refused(stack.place(body), 'unavailable');
    assert.equal(error.detail, 'the order was accepted at position 3, but its answer cannot be read');
  });

  it('keeps the first permit', async () => {
    await stack.place(body);
    const permitSignature = { nonce: 3, value: '1', deadline: START_S + 600, v: 27, r: `0x${'aa'.repeat(32)}`, s: `0x${'0b'.repeat(32)}` };
    const again = { ...JSON.parse(body.toString()) as Fields, permitSignature };
    assert.deepEqual((await stack.place(bodyOf(again))).headers, { 'Idempotent-Replayed': 'true' });
    assert.equal((stack.commands[3] as Fields)['permit'], undefined);
  });

  it('is refused with another content under the same nonce, until the first one is gone', async () => {
    await stack.place(body);
    const changed = await signedBody({ size: 26 });
    await refused(stack.place(changed), 'duplicate_nonce');
    const { orderHash } = stack.commands[3] as { orderHash: string };
    await stack.cancelOpen({ orderHash, marketId, side: undefined, signature: undefined, deadline: undefined });
    assert.equal((await stack.place(changed)).headers, undefined);
  });
});

describe('an order that is refused', () => {
  let stack: OrderWorld;
  beforeEach(async () => { stack = await orderWorld(); });
  afterEach(() => { assert.equal(stack.commands.filter(({ kind }) => kind === 'PlaceOrder').length, 0, 'no command was written'); });

  it('is so for the first fault: JSON, shape, price, size, expiration, market, signature, permit', async () => {
    const good = anOrder();
    const faults: [string, Fields, ErrorCode, string][] = [
      ['side', { side: 2 }, 'invalid_request', '/order/side'],
      ['price', { price: 0 }, 'invalid_price', '/order/price'],
      ['size', { size: 0 }, 'invalid_size', '/order/size'],
      ['expiration', { expiration: START_S + 59 }, 'invalid_expiration', '/order/expiration'],
      ['market', { marketId: id('nowhere') }, 'unknown_market', '/order/marketId'],
    ];
    await refused(stack.place(Buffer.from('{"order":')), 'invalid_json');
    while (faults.length > 0) {
      const order = { ...good, ...Object.assign({}, ...faults.map(([, fields]) => fields)) as Fields };
      await refused(stack.place(bodyOf({ order, signature: '0x', permitSignature: {} })), faults[0]![2], [faults[0]![3]]);
      faults.shift();
    }
    await refused(stack.place(bodyOf({ order: good, signature: '0x', permitSignature: 1 })), 'invalid_signature', ['/signature']);
    await refused(stack.place(bodyOf({ order: good, signature: await signOrder(good), permitSignature: 1 })), 'invalid_permit', ['/permitSignature']);
  });

  for (const [name, signature] of [
    ['missing', undefined], ['null', null], ['no hex', 'signature'], ['empty', '0x'], ['64 bytes', `0x${'11'.repeat(64)}`], ['66 bytes', `0x${'11'.repeat(66)}`],
    ['without 0x', '11'.repeat(65)], ['a list', [`0x${'11'.repeat(65)}`]],
  ] as const) {
    it(`has a signature that is ${name}`, async () => {
      const error = await refused(stack.place(bodyOf({ order: anOrder(), signature })), 'invalid_signature', ['/signature']);
      assert.deepEqual(error.extra, { digest: hashOf(anOrder()), recoveredSigner: null, domain });
    });
  }

  it('gets the digest, the recovered signer and the domain when somebody else signed it', async () => {
    const order = anOrder();
    const error = await refused(stack.place(bodyOf({ order, signature: await signOrder(order, bob) })), 'invalid_signature', ['/signature']);
    const recoveredSigner = bob.address.toLowerCase();
    assert.deepEqual(error.extra, { digest: hashOf(order), recoveredSigner, domain });
    assert.equal(error.reason, `/signature is by ${recoveredSigner}, not by the trader ${alice.address.toLowerCase()}`);
  });

  it('is so for a signature over any other field or domain', async () => {
    const order = anOrder();
    const changes: Fields[] = [
      { price: 620_001 }, { size: 1 }, { nonce: 2 }, { side: 1 }, { outcome: 1 }, { expiration: START_S + 3_601 },
      { trader: bob.address },
      { marketId: id('another market') },
    ];
    for (const change of changes) {
      await refused(stack.place(bodyOf({ order: { ...order, ...change }, signature: await signOrder(order) })), 'invalid_signature', ['/signature']);
    }
    for (const change of [{ name: 'settlement' }, { chainId: 1 }, { verifyingContract: `0x${'c1'.repeat(20)}` }]) {
      const signature = await signOrder(order, alice, { ...domain, ...change });
      await refused(stack.place(bodyOf({ order, signature })), 'invalid_signature', ['/signature']);
    }
  });

  it('names the reason when the signature recovers nobody', async () => {
    const order = anOrder();
    const signature = await signOrder(order);
    const high = (0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0');
    const cases: [string, RegExp][] = [
      [`${signature.slice(0, -2)}1d`, /v is 0, 1, 27 or 28/], [`0x${'00'.repeat(64)}1b`, /r is not within/],
      [`${signature.slice(0, 66)}${high}${signature.endsWith('1b') ? '1c' : '1b'}`, /upper half/],
    ];
    for (const [bad, reason] of cases) {
      const error = await refused(stack.place(bodyOf({ order, signature: bad })), 'invalid_signature', ['/signature']);
      assert.match(error.reason, reason);
      assert.equal(error.extra['recoveredSigner'], null);
    }
  });
});

describe('the engine\'s rejection of an order', () => {
  it('is the error of the same name', async () => {
    const stack = await orderWorld();
    stack.clock.atMs = START_MS + 86_400_000;
    const order = { expiration: START_S + 100_000 };
    const carried = await signedBody(order);
    await refused(stack.place(carried), 'market_closed');
    stack.run(newCommand('AdvanceClock', { at: START_MS + 99_990_000 }));
    await refused(stack.place(carried), 'invalid_expiration');
    stack.clock.atMs = START_MS;
    const early = await orderWorld();
    early.beforeSubmit = () => { early.run(newCommand('AdvanceClock', { at: START_MS + 86_400_000 })); };
    await refused(early.place(carried), 'market_closed');
    assert.deepEqual(early.outcomes.at(-1)!.events.map(({ type }) => type), ['CommandRejected']);
  });

  it('is not the last word: the same order may be taken later', async () => {
    const stack = await orderWorld();
    const carol = new Wallet(id('carol'));
    await stack.place(await signedBody({ nonce: 7 }, carol));
    const second = await signedBody({ nonce: 7, size: 1 }, carol);
    await refused(stack.place(second), 'duplicate_nonce');
    const { orderHash } = stack.commands[2] as { orderHash: string };
    await stack.cancelOpen({ orderHash, marketId, side: undefined, signature: undefined, deadline: undefined });
    assert.equal((JSON.parse((await stack.place(second)).body) as Fields)['status'], 'accepted');
  });
});
