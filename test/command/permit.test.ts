/** Permits and exposure on the order's way in: whose permit it is, in which order things are refused, and what is held for how long. */
import assert from 'node:assert/strict';
import { Signature, TypedDataEncoder, type Wallet } from 'ethers';
import { createKeccak256, permitTypes, preparePermits, type SigningDomain } from '../../command/signing/typed-data.js';
import { RequestError } from '../../engine/records/errors.js';
import {
  START_MS, START_S, alice, anOrder, bob, bodyOf, orderWorld, domain, refused, signOrder, type OrderWorld, type Fields,
} from '../harness/order-world.js';
import { newCommand } from '../support/commands.js';

const token: SigningDomain = { name: 'USD Coin', version: '2', chainId: domain.chainId, verifyingContract: `0x${'5c'.repeat(20)}` };
const types = { Permit: [...permitTypes.Permit] };

async function permitOf(wallet: Wallet, fields: Fields = {}): Promise<Fields> {
  const message = { owner: wallet.address, spender: domain.verifyingContract, value: 2n ** 256n - 1n, nonce: 3n, deadline: START_S + 600, ...fields };
  const { r, s, v } = Signature.from(await wallet.signTypedData(token, types, message));
  return { nonce: message.nonce, value: String(message.value), deadline: message.deadline, v, r, s };
}

async function body(permitSignature: Fields, fields: Fields = {}): Promise<Buffer> {
  const order = anOrder(fields);
  return bodyOf({ order, signature: await signOrder(order), permitSignature });
}

describe('a permit at intake', () => {
  let stack: OrderWorld;
  beforeEach(async () => {
    stack = await orderWorld();
    stack.permitDigest = preparePermits(await createKeccak256(), { token, spender: domain.verifyingContract });
  });

  it('has the digest that ethers gives', async () => {
    const message = { owner: alice.address.toLowerCase(), value: String(2n ** 255n + 7n), nonce: '0', deadline: '18446744073709551615' };
    const ours = Buffer.from(stack.permitDigest!(message)).toString('hex');
    assert.equal(`0x${ours}`, TypedDataEncoder.hash(token, types, { ...message, spender: domain.verifyingContract }));
    assert.equal(preparePermits(await createKeccak256(), { token, spender: domain.verifyingContract })(message).length, 32);
  });

  it('is recorded when it is the trader\'s', async () => {
    await stack.place(await body(await permitOf(alice)));
    const { nonce, value } = (stack.commands[2] as { permit: Fields }).permit;
    assert.deepEqual({ nonce, value }, { nonce: '3', value: String(2n ** 256n - 1n) });
  });

  for (const [what, permit] of [
    ['is somebody else\'s', () => permitOf(bob)],
    ['is for another spender', () => permitOf(alice, { spender: bob.address })],
    ['says another value than was signed', async () => ({ ...await permitOf(alice), value: '1' })],
    ['has an impossible r', async () => ({ ...await permitOf(alice), r: `0x${'f'.repeat(64)}` })],
  ] as const) {
    it(`is refused when it ${what}`, async () => {
      const error = await refused(stack.place(await body(await permit())), 'invalid_permit', ['/permitSignature']);
      assert.match(String(error.extra['digest']), /^0x[0-9a-f]{64}$/);
      assert.equal(stack.commands.length, 2);
    });
  }
});

describe('exposure on the order\'s way in', () => {
  let stack: OrderWorld;
  let held: string[];
  beforeEach(async () => {
    stack = await orderWorld();
    held = [];
    stack.exposure = { hold: (order) => {
      held.push(`hold ${order.nonce}`);
      return Promise.resolve(() => { held.push(`release ${order.nonce}`); });
    } };
  });
  const place = async (fields: Fields = {}) => {
    const order = anOrder(fields);
    return stack.place(bodyOf({ order, signature: await signOrder(order) }));
  };

  it('is held until the engine has decided', async () => {
    stack.beforeSubmit = () => { held.push('decide'); };
    await place();
    assert.deepEqual(held, ['hold 1', 'decide', 'release 1']);
  });

  it('is given back when the order is refused', async () => {
    await place();
    stack.beforeSubmit = () => { stack.run(newCommand('AdvanceClock', { at: START_MS + 86_400_000 })); };
    await refused(place({ nonce: 2, expiration: START_S + 100_000 }), 'market_closed');
    assert.deepEqual(held, ['hold 1', 'release 1', 'hold 2', 'release 2']);
  });

  it('is not asked for when the replica can refuse the order', async () => {
    await place();
    await refused(place({ size: 1 }), 'duplicate_nonce');
    assert.deepEqual(held, ['hold 1', 'release 1']);
  });

  it('does not ask again for an order that has its answer', async () => {
    const first = await place();
    stack.exposure = { hold: () => Promise.reject(new RequestError('insufficient_balance')) };
    assert.equal((await place()).position, first.position);
    await refused(place({ nonce: 2 }), 'insufficient_balance');
  });
});
