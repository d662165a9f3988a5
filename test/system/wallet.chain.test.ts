/** A wallet that knows nothing but the exchange's address: what the API tells it is enough to get money, split it into shares and find them. */
import assert from 'node:assert/strict';
import { Contract, JsonRpcProvider, ZeroHash, type InterfaceAbi } from 'ethers';
import { caughtUp, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { TEST_CHAIN_ID } from '../support/chain.js';

interface Described { readonly address: string | null; readonly abi: InterfaceAbi }
interface ListedMarket { readonly conditionId: string; readonly yesTokenId: string; readonly noTokenId: string; readonly contractAddress: string }

describe('the exchange\'s API for wallets', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  before(async () => {
    node = await tradedChain();
    await node.createMarket({ question: 'Will it rain?', category: 0 });
    exchange = await exchangeStack({}, [node.configured()]);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  it('has the contracts, their ABIs, the condition and the token ids of a market', async () => {
    const provider = new JsonRpcProvider(node.url, TEST_CHAIN_ID, { staticNetwork: true, cacheTimeout: -1 });
    const wallet = node.accounts[5]!.connect(provider);
    const { chains: [chain] } = await exchange.get('/api/v1/contracts') as { chains: { chainId: number; contracts: Record<string, Described> }[] };
    const at = (name: string, address = chain!.contracts[name]!.address) => new Contract(address!, chain!.contracts[name]!.abi, wallet);
    const { markets: [market] } = await exchange.get('/api/v1/markets', await caughtUp(exchange, node)) as { markets: ListedMarket[] };
    const { conditionId, yesTokenId, noTokenId, contractAddress } = market!;
    const call = async (contract: Contract, method: string, ...args: unknown[]) => {
      await (await contract.getFunction(method).send(...args)).wait();
    };
    const [usdc, tokens, one] = [at('collateral'), at('conditionalTokens'), 1_000_000n];
    await call(usdc, 'mint', wallet.address, one);
    await call(usdc, 'approve', tokens.target, one);
    await call(tokens, 'splitPosition', usdc.target, ZeroHash, conditionId, [1, 2], one);
    for (const id of [yesTokenId, noTokenId]) assert.equal(await tokens.getFunction('balanceOf')(wallet.address, id), one);
    const own = at('market', contractAddress);
    assert.deepEqual(await Promise.all(['yesId', 'noId'].map((method) => own.getFunction(method)())), [BigInt(yesTokenId), BigInt(noTokenId)]);
    provider.destroy();
  });
});
