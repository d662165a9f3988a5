/** Fills that another operator's transaction has settled, in a block that the history has not come to: the worker asks the chain, and waits. */
import { deepEqual, match } from 'node:assert/strict';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { startRpcProxy, type RpcProxy } from '../support/proxies.js';
import { BUY, SELL, USDC, walletOf } from '../support/settlement-contracts.js';
import { fundTraders, ofType, settlementWorld, startSettlement, type SettlementProcess, type SettlementWorld } from '../harness/settlement-world.js';

const CONFIRMATIONS = 2;

describe('settlement: fills that another transaction settles', function () {
  this.timeout(60_000);
  const [alice, bob] = [walletOf('alice'), walletOf('bob')];
  let database: TestDatabase;
  let world: SettlementWorld;
  let proxy: RpcProxy;
  let running: SettlementProcess;

  before(async () => {
    database = await testDatabase();
    world = await settlementWorld({ databaseUrl: database.url, confirmations: CONFIRMATIONS });
    await fundTraders(world, [alice, bob], 100n * USDC);
    proxy = await startRpcProxy(world.contracts.chain.url);
    const rules = { gatherMs: 1, pauseMs: 5, maxPauseMs: 40, maxSlowPauseMs: 5 };
    running = await startSettlement(world, { url: proxy.url, settlement: { rules } });
  });
  after(async () => {
    await running.stop();
    await proxy.close();
    await world.stop();
    await database.drop();
  });

  /** The settlement transaction that the lane has sent, as it is on the chain. */
  async function sent(): Promise<{ input: string }> {
    const { chain } = world.contracts;
    let found: { from: string; input: string } | undefined;
    await running.until('the transaction is mined', async () => {
      const { transactions } = await chain.rpc('eth_getBlockByNumber', ['latest', true]) as { transactions: { from: string; input: string }[] };
      found = transactions.find(({ from }) => from === world.operator.address.toLowerCase());
      return found !== undefined;
    });
    return found!;
  }

  it('are not sent again: an alert says so, and their facts come with their block', async () => {
    const { chain, operator, settlement, usdc, send, order } = world.contracts;
    await send(operator, usdc, 'pause');
    await running.place(await order(bob, { marketId: world.marketId, side: SELL, nonce: 1n }));
    await running.place(await order(alice, { marketId: world.marketId, side: BUY, nonce: 1n }));
    const { input } = await sent();
    await send(operator, usdc, 'unpause');
    await chain.rpc('eth_sendTransactionSync', [{ from: operator, to: settlement.address, data: input, gas: '0x1000000', gasPrice: '0x0' }]);
    proxy.calls.length = 0;
    const looks = () => proxy.calls.filter((method) => method === 'eth_call').length;
    await running.until('the worker has looked three times', () => looks() >= 3);
    match(running.reports.join('\n'), /^alert: chain 31337, settlement request \S+: another transaction has settled or failed 1 of its fills[^\n]*$/);
    deepEqual(ofType(await running.events(), 'FillSettled'), []);
    await chain.rpc('anvil_mine', ['0x2']);
    await running.settled();
    const events = await running.events();
    deepEqual(ofType(events, 'FillSettled').map(({ fill }) => fill), [0]);
    deepEqual(ofType(events, 'SettlementSubmitted').map(({ fills }) => fills), [[0]]);
    deepEqual((await running.queue()).sentFills, 0);
  });
});
