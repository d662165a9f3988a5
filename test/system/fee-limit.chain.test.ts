/** What a chains file allows settlement to offer for gas is what its transactions offer. */
import assert from 'node:assert/strict';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { ONE, caughtUp, eventsOf, settled, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { alice, bob, exchangeStack, type ExchangeStack } from '../harness/exchange.js';

const LIMIT = 3_000_000_000n;

describe('the exchange and a limit on fees', function () {
  this.timeout(60_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let market: DeployedMarket;

  before(async () => {
    node = await tradedChain();
    market = await node.createMarket({ question: 'Will it rain?' });
    exchange = await exchangeStack({}, [node.configured({ maxFeePerGas: LIMIT })]);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  it('settles with an offer at the limit where the chain\'s price would make it more', async () => {
    for (const trader of [alice, bob]) await node.equip(trader, { usdc: BigInt(10 * ONE), shares: BigInt(10 * ONE), market });
    await node.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(LIMIT * 9n / 10n).toString(16)}`]);
    await node.rpc('evm_mine');
    await caughtUp(exchange, node);
    const trade = { marketId: market.marketId, price: 500_000, size: ONE };
    await exchange.place(bob, { ...trade, side: 1 });
    const last = await settled(exchange, (await exchange.place(alice, trade)).position);
    const [submitted, ...others] = await eventsOf(exchange, 'SettlementSubmitted', last);
    assert.deepEqual([others, submitted!.fills], [[], [0]]);
    const { maxFeePerGas } = await node.rpc('eth_getTransactionByHash', [submitted!.txHash]) as { maxFeePerGas: string };
    assert.equal(BigInt(maxFeePerGas), LIMIT);
  });
});
