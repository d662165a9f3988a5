/** Transactions' bytes against ethers': every length of every field, signed and unsigned. */
import { equal } from 'node:assert/strict';
import { SigningKey, Transaction, id } from 'ethers';
import fc from 'fast-check';
import { serializeTransaction } from '../../command/lane/eip1559.js';

const amount = fc.oneof(fc.bigInt({ min: 0n, max: 300n }), fc.bigInt({ min: 0n, max: 2n ** 100n }));
const data = fc.oneof(
  fc.uint8Array({ maxLength: 80 }), fc.integer({ min: 0, max: 70_000 }).map((length) => new Uint8Array(length).fill(7)),
).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);

describe('chain: EIP-1559 transactions as bytes', () => {
  it('are those of ethers', () => {
    const key = new SigningKey(id('a key'));
    fc.assert(fc.property(fc.record({
      chainId: fc.integer({ min: 1, max: 2 ** 40 }), nonce: fc.integer({ min: 0, max: 2 ** 40 }), maxPriorityFeePerGas: amount, maxFeePerGas: amount,
      gasLimit: amount, to: fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`), data,
    }), (fields) => {
      const fees = { ...fields, maxFeePerGas: fields.maxFeePerGas + fields.maxPriorityFeePerGas };
      const transaction = Transaction.from({ type: 2, value: 0n, ...fees });
      equal(`0x${serializeTransaction(fees).toString('hex')}`, transaction.unsignedSerialized);
      transaction.signature = key.sign(transaction.unsignedHash);
      equal(`0x${serializeTransaction(fees, transaction.signature!).toString('hex')}`, transaction.serialized);
    }), { numRuns: 60 });
  });
});
