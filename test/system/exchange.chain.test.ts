/** Trades on a chain as their traders meet them: from a permit to the shares, fills that fail, cancels there; all documents against the chain. */
import assert from 'node:assert/strict';
import { Wallet, id } from 'ethers';
import {
  ONE, assertAnchored, assertPositionsAreBalances, caughtUp, eventsOf, eventually, merge, permitOf, settled, tradedChain, type TradedChain,
} from '../support/exchange-on-chain.js';
import { alice, bob, carol, exchangeStack, lower, signedBody, type ExchangeStack, type Placed } from '../harness/exchange.js';
import type { DeployedMarket } from '../support/deployed-chain.js';

const CHAIN = 'chain_id=31337';
const dave = new Wallet(id('exchange: dave'));
const traders = [alice, bob, carol, dave];
const orderOf = ({ sent }: Placed) => (JSON.parse(sent) as { order: Record<string, unknown> }).order;

describe('the exchange on a chain', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let rain: DeployedMarket, sun: DeployedMarket;
  let last: number;

  before(async () => {
    node = await tradedChain();
    rain = await node.createMarket({ question: 'Will it rain?', category: 0 });
    exchange = await exchangeStack({}, [node.configured()]);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  const read = (path: string) => exchange.get(path, last);
  const statusOf = async ({ orderHash }: Placed) => {
    const { status, cancelReason, filledSize, remainingSize } = await read(`/api/v1/orders/${orderHash}`);
    return [status, cancelReason, filledSize, remainingSize];
  };
  const compare = async () => {
    for (const market of [rain, sun]) await assertPositionsAreBalances(exchange, { node, market, traders, position: last });
  };

  it('has the markets of the chain: those from before its start, and those created while it runs', async () => {
    sun = await node.createMarket({ question: 'Will the sun shine?', category: 3 });
    last = await caughtUp(exchange, node);
    const { markets } = await read('/api/v1/markets') as { markets: { createdAt: number }[] };
    const listed = (market: DeployedMarket, question: string, category: string, { createdAt }: { createdAt: number }) => ({
      id: market.marketId, question, description: 'At noon.', category, contractAddress: market.address, maker: node.operator.address.toLowerCase(),
      expiration: market.expiration, chainId: 31_337, resolved: false, bestAskPrice: 0, createdAt, conditionId: market.marketId,
      yesTokenId: String(BigInt(market.yesId)), noTokenId: String(BigInt(market.noId)),
    });
    assert.deepEqual(markets, [listed(sun, 'Will the sun shine?', 'general', markets[0]!), listed(rain, 'Will it rain?', 'defi', markets[1]!)]);
    const { chains: [{ signedActions, ...chain }] } = await exchange.get('/api/v1/config') as { chains: [{ signedActions: object }] };
    assert.equal(Object.keys(signedActions).length, 14);
    assert.deepEqual(chain, {
      chainId: 31_337, name: 'Test chain', testnet: true, rpcUrl: null, contracts: node.chain.contracts, confirmations: 0, startBlock: node.chain.startBlock,
      exposureCheck: false, minOrderSize: 1, passOverAnchors: [], passOverFills: [],
      collateral: { name: 'USD Coin (test)', version: '2', symbol: 'USDC', decimals: 6, address: node.chain.contracts.collateral },
      orderDomain: { name: 'Prediction Exchange Settlement', version: '1', chainId: 31_337, verifyingContract: node.chain.contracts.settlement },
      relayer: null, quickOperator: null,
    });
  });

  it('counts what is split on the chain, half of its cost on each side', async () => {
    await node.equip(bob, { shares: BigInt(40 * ONE) + 1n, market: rain });
    last = await caughtUp(exchange, node);
    assert.deepEqual(await read(`/api/v1/positions/${rain.address}?user=${bob.address}`), {
      yesShares: 40 * ONE + 1, noShares: 40 * ONE + 1, totalInvested: 40 * ONE + 1, yesCost: 20 * ONE + 1, noCost: 20 * ONE,
    });
    await compare();
  });

  it('settles a bid that comes with a permit: pending with its transaction, then confirmed, and the money and the shares have moved', async () => {
    await node.mint(alice, BigInt(50 * ONE));
    const [hadAlice, hadBob] = [await node.usdcOf(alice), await node.usdcOf(bob)];
    await node.rpc('evm_setAutomine', [false]);
    const ask = await exchange.place(bob, { marketId: rain.marketId, side: 1, price: 600_000 });
    const permit = await permitOf(exchange, node, { trader: alice });
    const bid = await exchange.place(alice, { marketId: rain.marketId, price: 620_000, size: 4 * ONE }, permit);
    assert.equal(bid.body['matches'], 1);
    last = bid.position;
    const pending = await eventually('the fill is sent', async () => {
      const { pendingTrades } = await read('/api/v1/pending-trades') as { pendingTrades: { txHash: string; timestamp: string }[] };
      return pendingTrades[0]?.txHash === '' ? undefined : pendingTrades[0];
    });
    const { txHash, timestamp } = pending;
    const fill = {
      marketId: rain.marketId, buyerAddress: lower(alice), sellerAddress: lower(bob), fillSize: 4 * ONE, fillPrice: 600_000, fill: 0, outcome: 0,
      batchIndex: 0,
    };
    assert.deepEqual(pending, { ...fill, txHash, timestamp, isBatch: false, settlementStatus: 'pending' });
    const trade = { price: 600_000, size: 4 * ONE, buyer: lower(alice), seller: lower(bob), outcome: 0, timestamp: bid.timestamp, txHash };
    assert.deepEqual((await read(`/api/v1/trades/${rain.marketId}`))['trades'], [{ ...trade, settlementStatus: 'pending' }]);
    assert.deepEqual(await read(`/api/v1/positions/${rain.marketId}?user=${alice.address}`), { yesShares: 0, noShares: 0 });

    await node.rpc('evm_setAutomine', [true]);
    await node.rpc('evm_mine');
    last = await settled(exchange, last);
    assert.deepEqual((await read(`/api/v1/trades/${rain.marketId}`))['trades'], [{ ...trade, settlementStatus: 'confirmed' }]);
    const { timestamp: confirmedAt, ...settlement } = await read(`/api/v1/settlements/${txHash}`);
    const confirmed = { ...fill, status: 'confirmed', reason: null, replacedBy: null };
    assert.deepEqual(settlement, { ...confirmed, found: true, txHash, isBatch: false, fills: [{ ...confirmed, timestamp: confirmedAt }] });
    assert.deepEqual([await node.usdcOf(alice) - hadAlice, await node.usdcOf(bob) - hadBob], [-2_400_000n, 2_400_000n]);
    assert.equal(await node.read('settlement', 'filled', [ask.orderHash]), BigInt(4 * ONE));
    await compare();
  });

  it('keeps average costs: what is bought costs its price, what is sold takes its part along', async () => {
    const costs = async (trader: Wallet) => {
      const { yesShares, noShares, yesCost, noCost, totalInvested } = await read(`/api/v1/positions/${rain.marketId}?user=${trader.address}`);
      return [yesShares, noShares, yesCost, noCost, totalInvested];
    };
    assert.deepEqual(await costs(alice), [4 * ONE, 0, 2_400_000, 0, 2_400_000]);
    assert.deepEqual(await costs(bob), [36 * ONE + 1, 40 * ONE + 1, 18 * ONE + 1, 20 * ONE, 38 * ONE + 1]);
    // The order that is left asks 0.60 for 6; the permit has left an allowance.
    last = await settled(exchange, (await exchange.place(alice, { marketId: rain.marketId, price: 999_999, size: 6 * ONE })).position);
    await merge(node, bob, rain, 30 * ONE);
    last = await caughtUp(exchange, node);
    assert.deepEqual(await costs(alice), [10 * ONE, 0, 6_000_000, 0, 6_000_000]);
    assert.deepEqual((await costs(bob)).slice(0, 2), [1, 10 * ONE + 1]);
    const market = { marketId: rain.marketId, marketQuestion: 'Will it rain?', contractAddress: rain.address, expiration: rain.expiration, resolved: false };
    assert.deepEqual(await read(`/api/v1/users/${alice.address}/positions?${CHAIN}`), {
      positions: [{ ...market, yesShares: 10 * ONE, noShares: 0, totalInvested: 6_000_000 }],
    });
    await compare();
  });

  it('has all of it in its history, and its history\'s digests are on the chain', async () => {
    const [submitted, done] = [await eventsOf(exchange, 'SettlementSubmitted', last), await eventsOf(exchange, 'FillSettled', last)];
    assert.deepEqual(submitted.map(({ fills }) => fills), [[0], [1]]);
    assert.deepEqual(done.map(({ fill, cost, txHash }) => [fill, cost, txHash]), [
      [0, '2400000', submitted[0]!.txHash], [1, '3600000', submitted[1]!.txHash],
    ]);
    const advanced = (await eventsOf(exchange, 'ChainAdvanced', last)).at(-1)!;
    assert.equal((await node.rpc('eth_getBlockByNumber', [`0x${advanced.block.toString(16)}`, false]) as { hash: string }).hash, advanced.blockHash);
    assert.equal(await assertAnchored(exchange, node, last), 2);
  });

  describe('a fill whose buyer has nothing', () => {
    let first: Placed, second: Placed, poor: Placed, others: Placed[], sale: Placed;
    before(async () => {
      await node.equip(dave, { usdc: BigInt(10 * ONE), shares: BigInt(10 * ONE), market: rain });
      await node.equip(carol, { shares: BigInt(5 * ONE), market: sun });
      last = await caughtUp(exchange, node);
      first = await exchange.place(bob, { marketId: rain.marketId, side: 1, outcome: 1, price: 700_000, size: 5 * ONE });
      second = await exchange.place(dave, { marketId: rain.marketId, side: 1, outcome: 1, price: 700_000, size: 5 * ONE });
      others = [
        await exchange.place(carol, { marketId: rain.marketId, outcome: 0, price: 100_000, size: ONE }),
        await exchange.place(carol, { marketId: sun.marketId, outcome: 1, price: 300_000, size: ONE }),
      ];
      sale = await exchange.place(carol, { marketId: sun.marketId, side: 1, outcome: 1, price: 900_000, size: ONE });
      poor = await exchange.place(carol, { marketId: rain.marketId, outcome: 1, price: 700_000, size: 5 * ONE });
      assert.equal(poor.body['matches'], 1);
      last = await settled(exchange, poor.position);
    });

    it('is among the failed trades with its reason, and in no list and no volume', async () => {
      const { failedTrades, count } = await read('/api/v1/failed-trades') as { failedTrades: { txHash: string; timestamp: string }[]; count: number };
      const [{ txHash, timestamp }] = failedTrades as [{ txHash: string; timestamp: string }];
      const failed = {
        marketId: rain.marketId, buyerAddress: lower(carol), sellerAddress: lower(bob), fillSize: 5 * ONE, fillPrice: 700_000, fill: 2, outcome: 1,
        reason: 'buyer_insufficient_balance', timestamp, batchIndex: 0,
      };
      assert.deepEqual([failedTrades, count], [[{ ...failed, txHash }], 1]);
      const { status, reason } = await read(`/api/v1/settlements/${txHash}`);
      assert.deepEqual([status, reason], ['failed', 'buyer_insufficient_balance']);
      assert.equal((await read(`/api/v1/trades/${rain.marketId}`))['count'], 2);
      const { totalVolume, lastPrice } = await read(`/api/v1/stats/${rain.marketId}`);
      assert.deepEqual([totalVolume, lastPrice], [6_000_000, 600_000]);
      const { totalTrades } = await read(`/api/v1/platform/stats?${CHAIN}`);
      assert.equal(totalTrades, 2);
      assert.deepEqual(await read(`/api/v1/users/${carol.address}/activity?${CHAIN}`), { activity: [], settlements: [] });
    });

    it('costs its buyer all other bids, and no sale', async () => {
      assert.deepEqual(await statusOf(poor), ['cancelled', 'settlement_failed', 0, 5 * ONE]);
      for (const order of others) assert.deepEqual(await statusOf(order), ['cancelled', 'settlement_failed', 0, ONE]);
      assert.deepEqual(await statusOf(sale), ['open', null, 0, ONE]);
    });

    it('leaves the seller\'s order where it stood, before those that came later', async () => {
      assert.deepEqual(await statusOf(first), ['open', null, 0, 5 * ONE]);
      const taken = await exchange.place(alice, { marketId: rain.marketId, outcome: 1, price: 700_000, size: 6 * ONE });
      last = await settled(exchange, taken.position);
      assert.deepEqual(await statusOf(first), ['filled', null, 5 * ONE, 0]);
      assert.deepEqual(await statusOf(second), ['open', null, ONE, 4 * ONE]);
      assert.deepEqual((await eventsOf(exchange, 'FillSettled', last)).map(({ fill }) => fill), [0, 1, 3, 4]);
      await compare();
    });
  });

  describe('cancelled on the chain', () => {
    it('an order goes at once, though the chain would still settle it for two minutes', async () => {
      const bid = await exchange.place(dave, { marketId: sun.marketId, price: 400_000, size: ONE });
      const other = await exchange.place(dave, { marketId: sun.marketId, price: 400_000, size: 2 * ONE });
      await node.send(dave, 'settlement', 'cancelOrders', [[orderOf(bid)]]);
      last = await caughtUp(exchange, node);
      assert.deepEqual(await statusOf(bid), ['cancelled', 'user', 0, ONE]);
      assert.deepEqual(await statusOf(other), ['open', null, 0, 2 * ONE]);
    });

    it('all orders below a nonce go, and no more of them are taken', async () => {
      const [low, high] = [await exchange.place(dave, { marketId: sun.marketId, nonce: 8_999, size: ONE }),
        await exchange.place(dave, { marketId: sun.marketId, nonce: 9_000, size: ONE })];
      await node.send(dave, 'settlement', 'scheduleCancelAll', [9_000n]);
      last = await caughtUp(exchange, node);
      assert.deepEqual(await statusOf(low), ['cancelled', 'user', 0, ONE]);
      assert.deepEqual(await statusOf(high), ['open', null, 0, ONE]);
      const { orders } = await read(`/api/v1/orders?trader=${dave.address}`) as { orders: { orderHash: string }[] };
      assert.deepEqual(orders.map(({ orderHash }) => orderHash), [high.orderHash]);
      const late = await signedBody(exchange.signing, dave, { marketId: sun.marketId, nonce: 8_000 });
      await exchange.refused('nonce_cancelled', 'POST', '/api/v1/orders', { body: late });
      const again = await exchange.request('POST', '/api/v1/orders', { body: low.sent });
      assert.deepEqual([again.body, again.headers.get('Idempotent-Replayed')], [{ ...low.body, orderStatus: 'cancelled' }, 'true']);
      const allowed = await exchange.place(dave, { marketId: sun.marketId, nonce: 9_001, price: 1 });
      assert.equal(allowed.body['status'], 'accepted');
    });
  });
});
