/** The exchange on a chain whose blocks are final three blocks later, and whose orders have a smallest size: what a trader is told. */
import assert from 'node:assert/strict';
import { Wallet, id } from 'ethers';
import { ONE, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { exchangeStack, signedBody, type ExchangeStack, type Fields } from '../harness/exchange.js';

const CONFIRMATIONS = 3;

describe('the exchange on a chain with confirmations', function () {
  this.timeout(120_000);
  const dora = new Wallet(id('exchange on a deep chain: dora'));
  let node: TradedChain;
  let exchange: ExchangeStack;
  let marketId: string;
  let nonce = 0;

  const mine = () => node.rpc('anvil_mine', [`0x${CONFIRMATIONS.toString(16)}`]);
  const latest = async () => Number(await node.rpc('eth_blockNumber'));
  const body = (fields: Fields) => signedBody(exchange.signing, dora, { marketId, price: 600_000, nonce: ++nonce, ...fields });
  const place = async (fields: Fields) => exchange.request('POST', '/api/v1/orders', { body: await body(fields) });

  before(async () => {
    node = await tradedChain({ chain: { exposureCheck: true, confirmations: CONFIRMATIONS, minOrderSize: ONE / 2 } });
    ({ marketId } = await node.createMarket());
    await node.rpc('anvil_setBalance', [dora.address, '0xde0b6b3a7640000']);
    await node.mint(dora, BigInt(10 * ONE));
    await mine();
    exchange = await exchangeStack({}, [node.configured()]);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  it('tells a trader whose approval is not final at which block it looked, and takes the order once it is final', async () => {
    await node.approve(dora);
    const { block, latestBlock, blocksBehind, error } = await exchange.refused('insufficient_allowance', 'POST', '/api/v1/orders', { body: await body({ size: ONE }) });
    const head = await latest();
    assert.deepEqual([block, latestBlock, blocksBehind], [head - CONFIRMATIONS, head, CONFIRMATIONS]);
    assert.match(error as string, new RegExp(`read at block ${head - 3}, 3 behind the chain's latest: .* counts once 3 blocks follow its own block; wait .*send a permitSignature`));
    await mine();
    assert.equal((await place({ size: ONE })).status, 200);
  });

  it('takes no order below the smallest size that /api/v1/config tells', async () => {
    const { chains } = await exchange.get('/api/v1/config') as { chains: { minOrderSize: number }[] };
    const [{ minOrderSize } = { minOrderSize: 0 }] = chains;
    assert.equal(minOrderSize, ONE / 2);
    const told = await exchange.refused('size_too_small', 'POST', '/api/v1/orders', { body: await body({ size: minOrderSize - 1 }) });
    assert.deepEqual([told['status'], told['minOrderSize']], [400, minOrderSize]);
    assert.equal((await place({ size: minOrderSize })).status, 200);
  });
});
