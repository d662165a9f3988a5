/** The tests' own key. */
import assert from 'node:assert/strict';
import { SigningKey, computeAddress, getBytes, id } from 'ethers';
import { nativeKey } from './native-key.js';

describe('support: a key that signs natively', () => {
  it('signs as ethers does', () => {
    for (let n = 0; n < 50; n++) {
      const [mine, theirs] = [nativeKey(id(`key ${n % 5}`)), new SigningKey(id(`key ${n % 5}`))];
      const digest = getBytes(id(`digest ${n}`));
      const { r, s, v, serialized } = theirs.sign(digest);
      assert.deepEqual(mine.sign(digest), { r, s, v, serialized });
      assert.equal(mine.address, computeAddress(theirs).toLowerCase());
    }
  });
});
