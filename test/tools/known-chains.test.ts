/** The chains that `npm run deploy` knows: each once, with addresses whose checksums are right. */
import assert from 'node:assert/strict';
import { getAddress } from 'ethers';
import { KNOWN_CHAINS, knownChain } from '../../tools/deploy/known-chains.js';

describe('service: the known chains', () => {
  it('are each listed once, and their oracles have the checksums of their addresses', () => {
    assert.equal(new Set(KNOWN_CHAINS.map(({ chainId }) => chainId)).size, KNOWN_CHAINS.length);
    for (const { oracle } of KNOWN_CHAINS) if (oracle !== undefined) assert.equal(getAddress(oracle.toLowerCase()), oracle);
    assert.deepEqual([knownChain(137)?.name, knownChain(31_337)], ['Polygon', undefined]);
  });
});
