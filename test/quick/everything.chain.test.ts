/** Everything that there is for markets, on a quick market: orders, settlement, what readers see, failures, the end, and redemption. */
import assert from 'node:assert/strict';
import { Interface } from 'ethers';
import { shownText } from '../../engine/records/market-text.js';
import { ONE, assertPositionsAreBalances, caughtUp, eventually, settled } from '../support/exchange-on-chain.js';
import { alice, bob, cancelHeaders, carol, lower, signedBody, type Fields, type Placed } from '../harness/exchange.js';
import { bearerToken, gaslessClient, type GaslessClient } from '../support/gasless-wallet.js';
import { quickExchange, type QuickExchange, type QuickMarket } from '../support/quick-exchange.js';

const CHAIN = 'chain_id=31337';
const REVOKE = new Interface(['function revokeKeyedNonce(uint192 key)']);
const e8 = (usd: number) => BigInt(usd) * 10n ** 8n;

describe('a quick market and everything that there is for markets', function () {
  this.timeout(240_000);
  let scene: QuickExchange;
  let client: GaslessClient;
  let btc: QuickMarket, eth: QuickMarket;
  let ask: Placed, bid: Placed;
  let last: number;

  before(async () => {
    scene = await quickExchange();
    await scene.equip(alice, bob);
    client = await gaslessClient({ url: scene.exchange.url, token: await bearerToken(scene.exchange.databaseUrl) });
    [btc, eth] = [await scene.market('BTC', scene.first), await scene.market('ETH', scene.first)];
  });
  after(() => scene.close());

  const read = (path: string) => scene.exchange.get(path, last);
  const place = (wallet: typeof alice, fields: Fields) => scene.exchange.place(wallet, { marketId: btc.marketId, ...fields });
  const refusedOrder = async (code: 'market_closed' | 'invalid_expiration', fields: Fields) => scene.exchange.refused(code, 'POST', '/api/v1/orders', {
    body: await signedBody(scene.exchange.signing, alice, { marketId: btc.marketId, nonce: 900, ...fields }),
  });
  const stateOf = async ({ orderHash }: Placed) => {
    const { status, cancelReason } = await read(`/api/v1/orders/${orderHash}`);
    return [status, cancelReason];
  };
  const question = (market: QuickMarket) => (
    shownText({ question: `${market.asset} up or down, ${market.startTime} to ${market.endTime}?`, description: '', quick: market }).question);

  it('is not among the standard markets, and there before it starts', async () => {
    last = await caughtUp(scene.exchange, scene.node);
    const { markets } = await read('/api/v1/markets') as { markets: { id: string }[] };
    assert.deepEqual(markets.map(({ id }) => id), [scene.standard.marketId]);
    assert.deepEqual(await read('/api/v1/quick-markets/btc'), { active: false, asset: 'BTC', quickMarket: null, bestAskPrice: 0 });
    assert.deepEqual(await read(`/api/v1/resolution/${btc.marketId}`), { marketId: btc.marketId, expired: false, resolved: false });
    assert.deepEqual(await read(`/api/v1/stats/${btc.marketId}`), {
      marketId: btc.marketId, contractAddress: btc.address, volume24h: 0, totalVolume: 0, lastPrice: 0,
    });
    const empty = { bids: [], asks: [] };
    assert.deepEqual(await read(`/api/v1/orderbook/${btc.marketId}`), { marketId: btc.marketId, ...empty, lastUpdate: 0, yes: empty, no: empty });
  });

  it('takes orders from its start on, and shows them', async () => {
    await scene.passTo(scene.first);
    await scene.tell(scene.first, { BTC: e8(60_000), ETH: e8(3_000) });
    for (const market of [btc, eth]) await scene.node.split(bob, market, BigInt(10 * ONE));
    await caughtUp(scene.exchange, scene.node);
    ask = await place(bob, { side: 1, price: 600_000, size: 5 * ONE });
    last = ask.position;
    const { orderHash, timestamp } = ask;
    const open = { orderHash, marketId: btc.marketId, side: 1, price: 600_000, size: 5 * ONE, remainingSize: 5 * ONE, timestamp };
    for (const filter of ['', `&market=${btc.marketId}`]) {
      assert.deepEqual(await read(`/api/v1/orders?trader=${bob.address}${filter}`), { orders: [open], count: 1 });
    }
    assert.deepEqual(await read(`/api/v1/users/${bob.address}/orders?${CHAIN}`), {
      orders: [{ ...open, marketQuestion: question(btc), outcome: 0 }], count: 1,
    });
    const side = { bids: [], asks: [{ price: 600_000, size: 5 * ONE }] };
    assert.deepEqual(await read(`/api/v1/orderbook/${btc.marketId}?outcome=YES`), { marketId: btc.marketId, ...side, lastUpdate: timestamp });
    const { active, quickMarket, bestAskPrice } = await read('/api/v1/quick-markets/BTC');
    assert.deepEqual([active, (quickMarket as QuickMarket).marketId, bestAskPrice], [true, btc.marketId, 600_000]);
  });

  it('settles a trade, and shows it wherever trades are shown', async () => {
    bid = await place(alice, { price: 620_000, size: 4 * ONE });
    last = await settled(scene.exchange, bid.position);
    const { trades, count } = await read(`/api/v1/trades/${btc.marketId}`);
    const [trade] = trades as [{ txHash: string; timestamp: number }];
    const { txHash, timestamp } = trade;
    const parties = { buyer: lower(alice), seller: lower(bob) };
    const done = { price: 600_000, size: 4 * ONE, ...parties, timestamp, txHash, settlementStatus: 'confirmed' };
    assert.deepEqual([trade, count], [{ ...done, outcome: 0 }, 1]);
    assert.deepEqual(await read(`/api/v1/activity/${btc.marketId}`), { marketId: btc.marketId, activity: [done] });
    const { found, status, marketId, fillSize } = await read(`/api/v1/settlements/${txHash}`);
    assert.deepEqual([found, status, marketId, fillSize], [true, 'confirmed', btc.marketId, 4 * ONE]);
    const { activity: [entry] } = await read(`/api/v1/users/${alice.address}/activity?${CHAIN}`) as { activity: [Fields] };
    assert.deepEqual([entry['marketId'], entry['marketQuestion'], entry['userRole'], entry['txHash']], [btc.marketId, question(btc), 'buyer', txHash]);
    const held = { yesShares: 4 * ONE, noShares: 0, totalInvested: 2_400_000 };
    assert.deepEqual(await read(`/api/v1/users/${alice.address}/positions?${CHAIN}`), {
      positions: [{
        ...held, marketId: btc.marketId, marketQuestion: question(btc), contractAddress: btc.address, expiration: btc.endTime, resolved: false,
      }],
    });
    await assertPositionsAreBalances(scene.exchange, { node: scene.node, market: btc, traders: [alice, bob, carol], position: last });
    const { totalVolume, volume24h, lastPrice } = await read(`/api/v1/stats/${btc.marketId}`);
    assert.deepEqual([totalVolume, volume24h, lastPrice], [2_400_000, 2_400_000, 600_000]);
    assert.deepEqual(await read(`/api/v1/platform/stats?${CHAIN}`), { chainId: 31_337, totalVolume: 2_400_000, totalTrades: 1 });
    const synced = await scene.exchange.request('POST', `/api/v1/positions/${btc.marketId}/sync?userAddress=${alice.address}`);
    assert.deepEqual([synced.status, synced.body['position']], [200, held]);
  });

  it('takes back a trade whose buyer has nothing, and lists it among the failed ones', async () => {
    const poor = await place(carol, { price: 600_000, size: ONE });
    last = await settled(scene.exchange, poor.position);
    const { failedTrades: [failed], count } = await read('/api/v1/failed-trades') as { failedTrades: [Fields]; count: number };
    assert.deepEqual([count, failed['marketId'], failed['reason'], failed['buyerAddress'], failed['sellerAddress']], [
      1, btc.marketId, 'buyer_insufficient_balance', lower(carol), lower(bob),
    ]);
    assert.deepEqual(await stateOf(poor), ['cancelled', 'settlement_failed']);
    assert.deepEqual(await stateOf(ask), ['open', null]);
    const { status, reason } = await read(`/api/v1/settlements/${String(failed['txHash'])}`);
    assert.deepEqual([status, reason], ['failed', 'buyer_insufficient_balance']);
  });

  it('lets orders be cancelled, and lets them expire by the rules of all orders', async () => {
    const { exchange } = scene;
    const order = await place(alice, { price: 100_000, size: ONE });
    const headers = await cancelHeaders(exchange.signing, alice, { orderHash: order.orderHash });
    const { status, position } = await exchange.request('DELETE', `/api/v1/orders/${order.orderHash}?marketId=${btc.marketId}`, { headers });
    last = position;
    assert.deepEqual([status, await stateOf(order)], [200, ['cancelled', 'user']]);
    const nowS = Math.floor(scene.nowS());
    await refusedOrder('invalid_expiration', { expiration: nowS + 50 });
    const brief = await place(alice, { price: 100_000, size: ONE, expiration: nowS + 200 });
    await scene.passTo(nowS + 201);
    await eventually('the order expires', async () => {
      last = await caughtUp(exchange, scene.node);
      return (await stateOf(brief)).join() === 'cancelled,expired' ? true : undefined;
    });
  });

  it('trades until its last second, and then no more: what rests is cancelled, and the next market runs', async () => {
    const { exchange } = scene;
    await exchange.place(bob, { marketId: eth.marketId, side: 1, price: 500_000, size: 3 * ONE });
    await settled(exchange, (await exchange.place(alice, { marketId: eth.marketId, price: 500_000, size: 3 * ONE })).position);
    await scene.passTo(btc.endTime - 60);
    const resting = await place(alice, { price: 200_000, size: ONE });
    await scene.passTo(btc.endTime);
    await refusedOrder('market_closed', {});
    await eventually('what rests is cancelled', async () => {
      last = await caughtUp(exchange, scene.node);
      return (await stateOf(resting)).join() === 'cancelled,market_closed' ? true : undefined;
    });
    assert.deepEqual(await stateOf(ask), ['cancelled', 'market_closed']);
    const { bids, asks } = await read(`/api/v1/orderbook/${btc.marketId}`);
    assert.deepEqual([bids, asks], [[], []]);
    assert.deepEqual(await read(`/api/v1/resolution/${btc.marketId}`), {
      marketId: btc.marketId, expired: true, resolved: false, halvableFrom: btc.endTime + 86_400,
    });
    const { quickMarket } = await read('/api/v1/quick-markets/BTC') as { quickMarket: { startTime: number } };
    assert.equal(quickMarket.startTime, btc.endTime);
  });

  it('is resolved, and its shares are redeemed: a batch of which one item fails, and that one again', async () => {
    const { exchange, node } = scene;
    await scene.tell(btc.endTime, { BTC: e8(60_001), ETH: e8(3_001) });
    for (const market of [btc, eth]) await scene.shown(market, 'is paid', ({ payment }) => payment === 'yes');
    last = await caughtUp(exchange, node);
    assert.deepEqual(await read(`/api/v1/resolution/${btc.marketId}`), { marketId: btc.marketId, expired: true, resolved: true, winningOutcome: 0 });
    const { positions } = await read(`/api/v1/users/${alice.address}/positions?${CHAIN}`) as { positions: { resolved: boolean }[] };
    assert.deepEqual(positions.map(({ resolved }) => resolved), [true, true]);

    const had = await node.usdcOf(alice);
    const redemptions = await Promise.all([btc, eth].map(async ({ marketId, address }) => (
      { marketAddress: address, ...await client.bodies.redemptionItem(alice, { conditionId: marketId }) })));
    await node.rpc('evm_setAutomine', [false]);
    const { body } = await client.post('batch-ctf-redemption', { chainId: client.chainId, owner: alice.address, redemptions });
    assert.deepEqual([body.success, body.status], [true, 'pending'], JSON.stringify(body));
    const claims = await pending(2);
    assert.deepEqual(claims.map((claim) => [claim['marketId'], claim['marketAddress'], claim['userAddress'], claim['payout'], claim['winningOutcome']]), [
      [btc.marketId, btc.address, lower(alice), 4 * ONE, 0], [eth.marketId, eth.address, lower(alice), 3 * ONE, 0],
    ]);
    await node.rpc('eth_sendTransaction', [{
      from: alice.address, to: node.chain.contracts.conditionalTokens, data: REVOKE.encodeFunctionData('revokeKeyedNonce', [BigInt(eth.marketId) % 2n ** 192n]),
      gas: '0x30000', maxFeePerGas: '0x2540be40000', maxPriorityFeePerGas: '0x2540be400',
    }]);
    await node.rpc('evm_mine');
    await node.rpc('evm_setAutomine', [true]);
    await pending(0);
    const { failedClaims } = await read('/api/v1/failed-claims') as { failedClaims: Fields[] };
    assert.deepEqual(failedClaims.map((claim) => [claim['marketId'], claim['txHash'], claim['winningOutcome']]), [[eth.marketId, body.txHash, 0]]);
    assert.equal(await node.usdcOf(alice) - had, BigInt(4 * ONE));

    const txHash = await client.relayed('ctf-redemption', await client.bodies.redemption(alice, { conditionId: eth.marketId }));
    await pending(0);
    assert.equal(await node.usdcOf(alice) - had, BigInt(7 * ONE));
    const { settlements } = await read(`/api/v1/users/${alice.address}/activity?${CHAIN}`) as { settlements: Fields[] };
    assert.deepEqual(settlements.map((each) => [each['marketId'], each['marketQuestion'], each['payout'], each['winningOutcome'], each['txHash']]), [
      [eth.marketId, question(eth), 3 * ONE, 0, txHash], [btc.marketId, question(btc), 4 * ONE, 0, body.txHash],
    ]);
    for (const market of [btc, eth]) await assertPositionsAreBalances(exchange, { node, market, traders: [alice, bob, carol], position: last });
  });

  /** Resolves with the claims that the chain has not confirmed, once there are so many and each has its transaction. */
  async function pending(count: number): Promise<Fields[]> {
    return await eventually(`${count} claims are pending`, async () => {
      last = count === 0 ? await caughtUp(scene.exchange, scene.node) : last;
      const { pendingClaims } = await read('/api/v1/pending-claims') as { pendingClaims: Fields[] };
      return pendingClaims.length === count && pendingClaims.every(({ txHash }) => txHash !== '') ? pendingClaims : undefined;
    });
  }
});
