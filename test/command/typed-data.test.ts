/** EIP-712 digests against ethers, which encodes from the type table instead of into fixed buffers. */
import assert from 'node:assert/strict';
import { TypedDataEncoder, id, keccak256 as ethersKeccak } from 'ethers';
import fc from 'fast-check';
import {
  createKeccak256, cancelTypes, orderTypes, prepareDomain, typeHash, type Keccak256, type OrderFields,
} from '../../command/signing/typed-data.js';
import { toHex } from '../../engine/records/hex.js';

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(toHex);
const UINT64_MAX = 2n ** 64n - 1n;
const uint64 = fc.oneof(fc.constantFrom(0n, 1n, 2n ** 53n, 10n ** 15n, UINT64_MAX), fc.bigInt(0n, UINT64_MAX)).map(String);
const bit = fc.constantFrom(0 as const, 1 as const);

const anOrder: fc.Arbitrary<OrderFields> = fc.record({
  marketId: hex(32), trader: hex(20), side: bit, outcome: bit, price: fc.integer({ min: 1, max: 999_999 }), size: uint64,
  nonce: uint64, expiration: uint64,
});

const aDomain = fc.record({
  name: fc.string({ unit: 'grapheme', maxLength: 40 }), version: fc.constant('1' as const),
  chainId: fc.oneof(fc.constantFrom(1, 137, 31_337, Number.MAX_SAFE_INTEGER), fc.integer({ min: 1 })), verifyingContract: hex(20),
});

describe('signed orders', () => {
  let keccak256: Keccak256;
  before(async () => { keccak256 = await createKeccak256(); });

  it('have the type hash of the contracts', () => {
    assert.equal(toHex(typeHash(keccak256, 'Order', orderTypes.Order)), '0xffadbf349cab94884bffeb8a3792ec6371e07ac591ebcbdca20b58f6b001b16f');
    assert.equal(toHex(typeHash(keccak256, 'CancelOrder', cancelTypes.CancelOrder)), id('CancelOrder(bytes32 orderHash,address trader,uint64 deadline)'));
  });

  it('have the digest that ethers gives, in any domain', () => {
    fc.assert(fc.property(aDomain, fc.array(anOrder, { minLength: 1, maxLength: 4 }), (domain, orders) => {
      const prepared = prepareDomain(keccak256, domain);
      for (const order of orders) {
        const expected = TypedDataEncoder.hash(domain, { Order: [...orderTypes.Order] }, { ...order, makerFeeRecipient: `0x${'0'.repeat(40)}` });
        assert.equal(toHex(prepared.orderDigest(order)), expected);
      }
    }), { numRuns: 150 });
  });

  it('are cancelled by the digest that ethers gives, between digests of orders and in two domains at once', () => {
    const aCancel = fc.record({ orderHash: hex(32), trader: hex(20), deadline: uint64 });
    const cancels = fc.array(aCancel, { minLength: 1, maxLength: 3 });
    fc.assert(fc.property(aDomain, aDomain, anOrder, cancels, (one, other, order, some) => {
      const prepared = [prepareDomain(keccak256, one), prepareDomain(keccak256, other)];
      for (const cancel of some) {
        for (const { domain, cancelDigest, orderDigest } of prepared) {
          orderDigest(order);
          const expected = TypedDataEncoder.hash(domain, { CancelOrder: [...cancelTypes.CancelOrder] }, cancel);
          assert.equal(toHex(cancelDigest(cancel)), expected);
        }
      }
    }), { numRuns: 100 });
  });

  it('keep a digest that was given out when the next one is made', () => {
    const { orderDigest } = prepareDomain(keccak256, { name: 'x', version: '1', chainId: 1, verifyingContract: `0x${'ab'.repeat(20)}` });
    const [order] = fc.sample(anOrder, { numRuns: 1, seed: 1 });
    const digest = orderDigest(order!);
    const before = toHex(digest);
    orderDigest({ ...order!, size: '7' });
    assert.equal(toHex(digest), before);
  });
});

describe('keccak256', () => {
  it('agrees with ethers on every length around its block of 136 bytes', async () => {
    const keccak256 = await createKeccak256();
    for (const length of [0, 1, 31, 32, 64, 135, 136, 137, 271, 272, 273, 5_000]) {
      const data = new Uint8Array(length).map((_, i) => (i * 7) & 0xff);
      assert.equal(toHex(keccak256(data)), ethersKeccak(data), `${length} bytes`);
    }
  });
});
