/** Holdings read for clients: once a block, a few at a time, and no failure kept. */
import assert from 'node:assert/strict';
import { AbiCoder, Interface } from 'ethers';
import { ChainUnavailable, RpcError, type Rpc } from '../../command/chain/chain.js';
import { createHoldingsReader, readHoldings } from '../../command/chain/holdings.js';
import { deployedChain, type DeployedChain } from '../support/deployed-chain.js';

const address = (byte: string) => `0x${byte.repeat(20)}`;
const contracts = {
  settlement: address('51'), conditionalTokens: address('52'), collateral: address('53'), marketFactory: address('54'), oracle: address('55'),
  oracleResolver: address('56'), quickResolver: address('57'), multicall: address('58'),
};
const question = (block: number, trader = address('aa')) => ({ trader, tokens: [], block });

/** A node whose answers the test gives. */
function node() {
  const asked: { block: string; answer: (result: string) => void; fail: (error: Error) => void }[] = [];
  const rpc: Rpc = {
    chainId: 1,
    request: <T>(_method: string, params: readonly unknown[]) => new Promise<T>((resolve, reject) => {
      asked.push({ block: params[1] as string, answer: (result) => { resolve(result as T); }, fail: reject });
    }),
  };
  return { asked, rpc };
}

const aggregated = new Interface(['function aggregate3() returns ((bool success, bytes returnData)[])']);
const words = (values: readonly bigint[]) => aggregated.encodeFunctionResult('aggregate3', [
  values.map((value) => [true, AbiCoder.defaultAbiCoder().encode(['uint256'], [value])]),
]);

describe('holdings', () => {
  it('are read once a block, and again after a failure', async () => {
    const { asked, rpc } = node();
    const read = createHoldingsReader({ chain: { chainId: 1, contracts }, rpc });
    const [first, second] = [read(question(5)), read(question(5))];
    assert.equal(asked.length, 1);
    asked[0]!.fail(new RpcError('eth_call', -32_000, 'header not found', undefined));
    await assert.rejects(first, ChainUnavailable);
    await assert.rejects(second, ChainUnavailable);
    const again = read(question(5));
    asked[1]!.answer(words([7n, 8n, 9n, 1n]));
    assert.deepEqual(await again, { collateral: 7n, allowance: 8n, permitNonce: 9n, approved: true, shares: [] });
    assert.deepEqual(await read(question(5)), await again);
    void read(question(6));
    assert.deepEqual(asked.map(({ block }) => block), ['0x5', '0x5', '0x6']);
  });

  it('are kept for those who ask again, when there are too many to keep all', async () => {
    const { asked, rpc } = node();
    const read = createHoldingsReader({ chain: { chainId: 1, contracts }, rpc, maxKept: 2 });
    const readsFor = (...bytes: string[]) => {
      for (const byte of bytes) void read(question(5, address(byte)));
      return asked.length;
    };
    assert.deepEqual([readsFor('a1', 'a2', 'a1', 'a3'), readsFor('a1', 'a3'), readsFor('a2')], [3, 3, 4]);
  });

  it('are read a few at a time, in order', async () => {
    const { asked, rpc } = node();
    const read = createHoldingsReader({ chain: { chainId: 1, contracts }, rpc, maxAtOnce: 2 });
    const reads = ['a1', 'a2', 'a3'].map((byte) => read(question(5, address(byte))));
    assert.equal(asked.length, 2);
    asked[1]!.answer(words([2n, 0n, 0n, 0n]));
    assert.equal((await reads[1]!).collateral, 2n);
    assert.equal(asked.length, 3);
    asked[0]!.fail(new ChainUnavailable(1, 'down'));
    asked[2]!.answer(words([3n, 0n, 0n, 0n]));
    await assert.rejects(reads[0]!, ChainUnavailable);
    assert.equal((await reads[2]!).collateral, 3n);
    const fourth = read(question(5, address('a4')));
    assert.equal(asked.length, 4);
    asked[3]!.answer(words([4n, 0n, 0n, 0n]));
    assert.equal((await fourth).collateral, 4n);
  });

  it('are the chain\'s', async () => {
    const chain: DeployedChain = await deployedChain();
    try {
      const trader = chain.accounts[3]!.address.toLowerCase();
      const market = await chain.createMarket({});
      await chain.mint(chain.accounts[3]!, 50_000_000n);
      await chain.split(chain.accounts[3]!, market, 20_000_000n);
      await chain.approve(chain.accounts[3]!, 11n);
      await chain.approveShares(chain.accounts[3]!);
      const block = Number(await chain.rpc('eth_blockNumber'));
      const { chainId } = chain.chain;
      const rpc: Rpc = { chainId, request: <T>(method: string, params: readonly unknown[]) => chain.rpc(method, params) as Promise<T> };
      assert.deepEqual(await readHoldings(chain.chain, rpc, { trader, tokens: [BigInt(market.yesId), BigInt(market.noId)], block }), {
        collateral: 30_000_000n, allowance: 11n, permitNonce: 0n, approved: true, shares: [20_000_000n, 20_000_000n],
      });
    } finally {
      await chain.stop();
    }
  });
});
