/** settleBatch's calldata, read back by the contract's own ABI: every word, the sizes told beforehand, and the greatest values. */
import { deepEqual, equal } from 'node:assert/strict';
import { Interface, type Result } from 'ethers';
import fc from 'fast-check';
import { encodeSettleBatch, settleBytes, type SettleBatch } from '../../command/settlement/settle-calldata.js';
import { settlement } from '../../contracts-abi/settlement.js';

const abi = new Interface(settlement.abi);
const UINT64_MAX = 2n ** 64n - 1n;

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value) => `0x${Buffer.from(value).toString('hex')}`);
const uint64 = fc.bigInt({ min: 0n, max: UINT64_MAX });
const position = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const bit = fc.constantFrom(0 as const, 1 as const);

const order = fc.record({
  marketId: hex(32), trader: hex(20), side: bit, outcome: bit, price: fc.integer({ min: 1, max: 999_999 }), size: uint64.map(String),
  nonce: uint64.map(String), expiration: uint64.map(String), signature: hex(65),
});
const permit = fc.record({
  owner: hex(20),
  permit: fc.record({
    nonce: uint64.map(String), value: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String), deadline: uint64.map(String),
    v: fc.constantFrom(27 as const, 28 as const), r: hex(32), s: hex(32),
  }),
});
const fill = fc.record({
  seq: position, buyIndex: fc.integer({ min: 0, max: 2 ** 32 - 1 }), sellIndex: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  price: fc.integer({ min: 1, max: 999_999 }), size: uint64,
});
const batch: fc.Arbitrary<SettleBatch> = fc.record({
  orders: fc.array(order, { maxLength: 4 }), permits: fc.array(permit, { maxLength: 4 }), fills: fc.array(fill, { maxLength: 4 }),
  history: fc.record({ position, digest: fc.uint8Array({ minLength: 32, maxLength: 32 }) }),
});

/** What the contract is told, as ethers decodes it. */
function told({ orders, permits, fills, history }: SettleBatch): unknown[] {
  return [
    orders.map(({ marketId, trader, side, outcome, price, size, nonce, expiration }) => [
      marketId, trader, BigInt(side), BigInt(outcome), BigInt(price), BigInt(size), BigInt(nonce), BigInt(expiration), `0x${'0'.repeat(40)}`,
    ]),
    orders.map(({ signature }) => signature),
    permits.map(({ owner, permit: { value, deadline, v, r, s } }) => [owner, BigInt(value), BigInt(deadline), BigInt(v), r, s]),
    fills.map(({ seq, buyIndex, sellIndex, price, size }) => [BigInt(seq), BigInt(buyIndex), BigInt(sellIndex), BigInt(price), size]),
    BigInt(history.position), `0x${Buffer.from(history.digest).toString('hex')}`,
  ];
}

/** Addresses come with checksums. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  return typeof value === 'string' ? value.toLowerCase() : value;
}

describe('settlement: calldata', () => {
  it('says what the batch says, in the ABI\'s own encoding', () => {
    fc.assert(fc.property(batch, (given) => {
      const data = encodeSettleBatch(given);
      const decoded = abi.decodeFunctionData('settleBatch', data) as Result;
      deepEqual(plain(decoded.toArray(true)), told(given));
      equal(abi.encodeFunctionData('settleBatch', told(given)), data);
    }), { numRuns: 200 });
  });

  it('has the size that was calculated beforehand', () => {
    fc.assert(fc.property(batch, (given) => {
      const { orders, permits, fills } = given;
      equal((encodeSettleBatch(given).length - 2) / 2, settleBytes({ orders: orders.length, permits: permits.length, fills: fills.length }));
    }), { numRuns: 50 });
  });
});
