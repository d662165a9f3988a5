/** A chain of which only what is kept is looked at: nothing is concluded from blocks that a crash may take. */
import assert from 'node:assert/strict';
import { heldBack } from '../../command/chain/held-back.js';
import { testChain, type TestChain } from '../support/chain.js';

describe('a chain that is held back', () => {
  let chain: TestChain;
  before(async () => {
    chain = await testChain();
    await chain.rpc('anvil_mine', ['0x5']);
  });
  after(() => chain.stop());

  it('has the kept block for its latest, and all else as it is', async () => {
    let kept = 3;
    const nodes = { chainId: 31_337, request: <T>(method: string, params: readonly unknown[]) => chain.rpc(method, params) as Promise<T> };
    const rpc = heldBack(nodes, () => kept);
    const numberOf = async (tag: string) => (await rpc.request<{ number: string }>('eth_getBlockByNumber', [tag, false])).number;
    assert.deepEqual([await rpc.request('eth_blockNumber', []), await numberOf('latest'), await numberOf('0x5')], ['0x3', '0x3', '0x5']);
    kept = 9;
    assert.equal(await rpc.request('eth_blockNumber', []), '0x5');
    assert.equal(await rpc.request('eth_chainId', []), '0x7a69');
  });
});
