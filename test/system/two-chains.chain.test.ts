/** One exchange on two chains: each market's orders are signed for, settled on and checked against its own chain alone. */
import assert from 'node:assert/strict';
import type { Wallet } from 'ethers';
import {
  ONE, assertAnchored, assertPositionsAreBalances, caughtUp, eventsOf, eventually, readiness, settled, tradedChain, type TradedChain,
} from '../support/exchange-on-chain.js';
import { alice, bob, exchangeStack, lower, signedBody, type ExchangeStack, type Fields } from '../harness/exchange.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { startProxyTo, type UrlProxy } from '../support/proxies.js';

describe('the exchange on two chains', function () {
  this.timeout(120_000);
  let main: TradedChain, side: TradedChain;
  let rain: DeployedMarket, snow: DeployedMarket;
  let proxy: UrlProxy;
  let exchange: ExchangeStack;
  let last: number;

  before(async () => {
    [main, side] = await Promise.all([
      tradedChain({ chain: { exposureCheck: true } }), tradedChain({ chainId: 4_242, chain: { exposureCheck: true } }),
    ]);
    // The same contracts at the same addresses: the chain ids alone tell the domains apart.
    rain = await main.createMarket({ question: 'Will it rain?' });
    snow = await side.createMarket({ question: 'Will it snow?' });
    await main.equip(alice, { usdc: BigInt(10 * ONE) });
    await main.equip(bob, { shares: BigInt(10 * ONE), market: rain });
    await side.equip(alice, { usdc: BigInt(2 * ONE) });
    await side.equip(bob, { shares: BigInt(4 * ONE), market: snow });
    proxy = await startProxyTo(side.url);
    exchange = await exchangeStack({}, [main.configured(), side.configured({ rpcUrls: [proxy.url] })]);
  });
  after(async () => {
    await exchange.close();
    await proxy.close();
    await Promise.all([main.stop(), side.stop()]);
  });

  const place = (node: TradedChain, wallet: Wallet, fields: Fields) =>
    exchange.place(wallet, { price: 500_000, ...fields }, { signing: exchange.signingOn(node.chain.chainId) });
  const body = (node: TradedChain, fields: Fields) =>
    signedBody(exchange.signingOn(node.chain.chainId), alice, { price: 500_000, nonce: 900_000, ...fields });

  /** What an order of Alice's for more than she has is refused with: required, available, reserved. */
  const refusal = async (node: TradedChain, market: DeployedMarket, size: number) => {
    const { required, available, reserved } = await exchange.refused('insufficient_balance', 'POST', '/api/v1/orders', {
      body: await body(node, { marketId: market.marketId, size }),
    });
    return [required, available, reserved];
  };

  it('has the markets of both, by chain, and a signing domain for each', async () => {
    last = Math.max(await caughtUp(exchange, main), await caughtUp(exchange, side));
    const listed = async (query: string) => {
      const { markets } = await exchange.get(`/api/v1/markets${query}`, last) as { markets: { id: string; chainId: number }[] };
      return markets.map(({ id, chainId }) => [id, chainId]).sort();
    };
    assert.deepEqual(await listed('?chain_id=31337'), [[rain.marketId, 31_337]]);
    assert.deepEqual(await listed('?chain_id=4242'), [[snow.marketId, 4_242]]);
    assert.deepEqual(await listed(''), [[rain.marketId, 31_337], [snow.marketId, 4_242]].sort());
    assert.deepEqual([31_337, 4_242].map((chainId) => exchange.signingOn(chainId).domain.chainId), [31_337, 4_242]);
  });

  it('takes no order that is signed for the other chain', async () => {
    for (const [market, node] of [[rain, side], [snow, main]] as const) {
      const sent = await body(node, { marketId: market.marketId, size: ONE });
      const { domain } = await exchange.refused('invalid_signature', 'POST', '/api/v1/orders', { body: sent });
      assert.equal((domain as { chainId: number }).chainId, node === side ? 31_337 : 4_242);
    }
  });

  it('counts what a trader has on one chain for that chain only', async () => {
    assert.deepEqual(await refusal(main, rain, 20 * ONE + 2), [10 * ONE + 1, 10 * ONE, 0]);
    assert.deepEqual(await refusal(side, snow, 4 * ONE + 2), [2 * ONE + 1, 2 * ONE, 0]);
    await place(main, alice, { marketId: rain.marketId, size: 20 * ONE });
    await place(side, alice, { marketId: snow.marketId, size: 4 * ONE });
    assert.deepEqual(await refusal(side, snow, 2), [1, 2 * ONE, 2 * ONE]);
  });

  it('settles each fill on its own chain, from keys and nonces of their own', async () => {
    for (let i = 0; i < 3; i++) {
      await place(main, bob, { marketId: rain.marketId, side: 1, size: 2 * ONE });
      last = (await place(side, bob, { marketId: snow.marketId, side: 1, size: ONE })).position;
    }
    last = await settled(exchange, last);
    const submitted = await eventsOf(exchange, 'SettlementSubmitted', last);
    const fillsOn = (chain: number) => submitted.filter(({ chainId }) => chainId === chain).flatMap(({ fills }) => fills).sort();
    assert.deepEqual([fillsOn(31_337), fillsOn(4_242)], [[0, 2, 4], [1, 3, 5]]);
    for (const [node, market] of [[main, rain], [side, snow]] as const) {
      last = Math.max(last, await caughtUp(exchange, node));
      await assertPositionsAreBalances(exchange, { node, market, traders: [alice, bob], position: last });
      assert.ok(await assertAnchored(exchange, node, last) > 0);
    }
    assert.deepEqual([await main.usdcOf(alice), await side.usdcOf(alice)], [BigInt(7 * ONE), 500_000n]);
    type Held = { readonly marketId: string; readonly yesShares: number };
    const { positions } = await exchange.get(`/api/v1/users/${lower(alice)}/positions?chain_id=4242`, last) as { positions: Held[] };
    assert.deepEqual(positions.map(({ marketId, yesShares }) => [marketId, yesShares]), [[snow.marketId, 3 * ONE]]);
  });

  it('goes on with one while the other is away: only its fills wait', async () => {
    await side.rpc('evm_setAutomine', [false]);
    const waiting = await place(side, bob, { marketId: snow.marketId, side: 1, size: ONE });
    assert.equal(waiting.body['matches'], 1);
    proxy.refuse();
    last = (await place(main, bob, { marketId: rain.marketId, side: 1, size: 2 * ONE })).position;
    await eventually('the fill of the main chain is settled', async () => {
      const { pendingTrades } = await exchange.get('/api/v1/pending-trades', last) as { pendingTrades: { marketId: string }[] };
      return pendingTrades.some(({ marketId }) => marketId === rain.marketId) ? undefined : pendingTrades.map(({ marketId }) => marketId);
    }).then((markets) => { assert.deepEqual(markets, [snow.marketId]); });
    assert.deepEqual([await main.usdcOf(alice), await side.usdcOf(alice)], [BigInt(6 * ONE), 500_000n]);
    assert.deepEqual(await refusal(main, rain, 20 * ONE), [10 * ONE, 6 * ONE, 6 * ONE]);
    // Readiness counts once per second, so the settled fill may still be among them.
    await eventually('the fill of the other chain alone is counted', async () => {
      const { status, chains } = await readiness(exchange);
      assert.equal(status, 200);
      const counts = new Map(chains.map(({ chainId, waitingFills, sentFills }) => [chainId, waitingFills + sentFills]));
      return counts.get(31_337) === 0 && counts.get(4_242) === 1 ? true : undefined;
    });
    proxy.accept();
    await side.rpc('evm_setAutomine', [true]);
    await side.rpc('evm_mine');
    last = await settled(exchange, last);
    assert.equal(await side.usdcOf(alice), 0n);
    await assertPositionsAreBalances(exchange, { node: side, market: snow, traders: [alice, bob], position: last });
  });

  it('has both after a restart, and refuses to start without one of them', async () => {
    exchange = await exchange.restart();
    last = await settled(exchange, (await place(main, bob, { marketId: rain.marketId, side: 1, size: 2 * ONE })).position);
    await assert.rejects(exchange.restart([main.configured()]), {
      name: 'ForeignHistory',
      message: 'the history has markets on chain 4242, but the settings (CHAINS, CHAIN_ID) name only 31337: set it back, or start with an empty database '
        + 'and an empty DATA_DIR',
    });
    exchange = await exchange.restart();
    assert.deepEqual((await exchange.get('/api/v1/pending-trades', last)), { pendingTrades: [], count: 0 });
  });
});
