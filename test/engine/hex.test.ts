/** Bytes as hex text. */
import { equal } from 'node:assert/strict';
import { toHex } from '../../engine/records/hex.js';

describe('bytes as hex', () => {
  it('are what Node writes, of every byte and length, whatever was written before', () => {
    const bytes = Uint8Array.from({ length: 300 }, (_, i) => i * 7);
    for (const length of [300, 65, 66, 64, 32, 20, 1, 0]) {
      const part = bytes.subarray(300 - length);
      equal(toHex(part), `0x${Buffer.from(part).toString('hex')}`);
    }
  });
});
