/** Sources that fail, the whole way: from the providers' servers to what readers see, what the chain pays, and what an operator is told. */
import assert from 'node:assert/strict';
import { Interface, type InterfaceAbi } from 'ethers';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { SOURCE_URLS } from '../../command/prices/source-urls.js';
import { QUICK_RULES } from '../../command/quick/quick-jobs.js';
import { ONE, caughtUp, eventsOf, eventually, recordedEvents, settled } from '../support/exchange-on-chain.js';
import { alice, bob } from '../harness/exchange.js';
import { bearerToken, gaslessClient } from '../support/gasless-wallet.js';
import { priceProviders, type PriceProviders, type Provider, type Said } from '../support/price-servers.js';
import { INTERVAL_S, quickExchange, type QuickExchange, type QuickMarket } from '../support/quick-exchange.js';

const RESOLVER = new Interface(quickResolver.abi as InterfaceAbi);
const DAY_S = 86_400;
const e8 = (usd: number) => Math.round(usd * 1e8);

describe('quick markets whose price sources fail', function () {
  this.timeout(300_000);
  let providers: PriceProviders;
  let scene: QuickExchange;

  before(async () => {
    providers = await priceProviders();
    scene = await quickExchange({ settings: providers.settings });
    await scene.equip(alice, bob);
  });
  after(async () => {
    await scene.close();
    await providers.close();
  });

  const boundary = (n: number) => scene.first + n * INTERVAL_S;
  const marketFrom = (n: number) => scene.market('BTC', boundary(n));
  const used = async () => (await scene.health()).prices[0].assets.map(({ source }) => source);
  const newest = async () => {
    const { priceUSD, source } = await scene.exchange.get('/api/v1/prices/BTC', await caughtUp(scene.exchange, scene.node));
    return [priceUSD, source];
  };
  /** Seconds from a market's end until its end price was decided, and whether the price itself did that: else the clock did. */
  async function decided({ marketId, endTime }: QuickMarket): Promise<{ readonly afterS: number; readonly byPrice: boolean }> {
    const records = await recordedEvents(scene.exchange, await caughtUp(scene.exchange, scene.node));
    const { at, events } = records.find((record) => record.events.some((event) => event.type === 'EndPriceSet' && event.marketId === marketId))!;
    return { afterS: at / 1_000 - endTime, byPrice: events.some(({ type }) => type === 'PriceRecorded') };
  }
  const unresolvable = async () => (await scene.health()).quickMarkets[0].unresolvableMarkets;
  const halve = ({ address }: QuickMarket) => ({ to: scene.node.chain.contracts.quickResolver, data: RESOLVER.encodeFunctionData('halve', [address]) });

  /** The contract does not let somebody halve the market, with this error. */
  async function refuses({ address: from }: { readonly address: string }, market: QuickMarket, error: string): Promise<void> {
    const { selector } = RESOLVER.getError(error)!;
    const call = scene.node.rpc('eth_call', [{ from, ...halve(market) }, 'latest']);
    await assert.rejects(call, (reason) => JSON.stringify(reason).includes(selector), error);
  }

  /** Providers publish a price around a boundary, the best first, each heard before the next. After 5 s of silence the first to speak takes over. */
  async function speak(n: number, said: Said): Promise<void> {
    for (const before of [18, 9, 1, 0]) {
      const second = boundary(n) - before;
      await scene.passTo(second);
      providers.keep(said, second);
      for (const [name, usd] of Object.entries(said) as [Provider, number][]) {
        await scene.heard(name, () => { providers.stream({ [name]: usd }, second); });
      }
    }
  }

  it('at first: the best source decides', async () => {
    await speak(0, { pyth: 60_000, coinbase: 60_010, binance: 60_020 });
    const market = await marketFrom(0);
    const { startPrice } = await scene.shown(market, 'has its strike', ({ startPrice: price }) => price !== null);
    assert.equal(startPrice, e8(60_000));
    assert.deepEqual(await newest(), [60_000, SOURCE_URLS.pyth]);
    assert.deepEqual(await used(), ['pyth']);
  });

  it('the best one is silent: the next one decides, once the best could no longer', async () => {
    await speak(1, { coinbase: 60_110, binance: 60_120 });
    const [ending, beginning] = [await marketFrom(0), await marketFrom(1)];
    await scene.passTo(boundary(1) + 21);
    const { endPrice } = await scene.shown(ending, 'is paid', ({ payment }) => payment === 'yes');
    assert.equal(endPrice, e8(60_110));
    assert.ok((await decided(ending)).afterS >= 20, 'until then the best source could still speak');
    const { startPrice, priceSource } = await scene.shown(beginning, 'has its strike', ({ startPrice: price }) => price !== null);
    assert.deepEqual([startPrice, priceSource], [e8(60_110), 'coinbase']);
    assert.deepEqual(await newest(), [60_110, SOURCE_URLS.coinbase]);
    assert.deepEqual(await used(), ['coinbase']);
  });

  it('the best one is absurd: it is outvoted, now and when it is asked for the past', async () => {
    await speak(2, { pyth: 600_000, coinbase: 60_050, binance: 60_060 });
    await scene.passTo(boundary(2) + 21);
    const { endPrice } = await scene.shown(await marketFrom(1), 'is paid', ({ payment }) => payment === 'no');
    assert.equal(endPrice, e8(60_050));
    assert.deepEqual(await newest(), [60_050, SOURCE_URLS.coinbase]);
    const metrics = await (await fetch(`${scene.exchange.url}/metrics`)).text();
    assert.match(metrics, /^exchange_price_observations_passed_over\{reason="jump"\} [1-9]\d*$/m);
  });

  it('the best one is back: it decides again, at once', async () => {
    await speak(3, { pyth: 60_200, coinbase: 60_210, binance: 60_220 });
    const { endPrice } = await scene.shown(await marketFrom(2), 'is paid', ({ payment }) => payment === 'yes');
    assert.equal(endPrice, e8(60_200));
    assert.ok((await decided(await marketFrom(2))).byPrice);
    assert.deepEqual([await newest(), await used()], [[60_200, SOURCE_URLS.pyth], ['pyth']]);
  });

  it('all are away over a boundary: both markets are flagged, an alert names them, and the newest price stays as it was', async () => {
    const [ending, beginning] = [await marketFrom(3), await marketFrom(4)];
    providers.away(true);
    await scene.passTo(boundary(4) + 21);
    for (const [market, which] of [[ending, 'end'], [beginning, 'start']] as const) {
      const shown = await scene.shown(market, 'is flagged', ({ priceMissed }) => priceMissed);
      assert.deepEqual([shown.resolved, shown.outcome, shown.payment, shown.endPrice], [false, null, 'none', null], which);
    }
    const { quickMarket } = await scene.exchange.get('/api/v1/quick-markets/BTC') as { quickMarket: Record<string, unknown> };
    assert.deepEqual([quickMarket['marketId'], quickMarket['startPrice'], quickMarket['priceMissed'], quickMarket['resolved']], [beginning.marketId, null, true, false]);
    assert.deepEqual(await newest(), [60_200, SOURCE_URLS.pyth]);
    await eventually('it is told', async () => await unresolvable() === 2 ? true : undefined);
    await scene.passTo(boundary(4) + 40 + QUICK_RULES.missedMs / 1_000);
    const moment = new Date(boundary(4) * 1_000).toISOString();
    for (const { marketId } of [ending, beginning]) {
      await eventually('there is an alert', () => Promise.resolve(scene.alerts().some((text) => text.includes(marketId)) || undefined));
      assert.equal(scene.alerts().filter((text) => text.includes(`market ${marketId}: no source has told the price of BTC at ${moment}`)).length, 1);
    }
    for (const { name, connected, problem } of (await scene.health()).prices[0].sources) {
      assert.ok(!connected && problem !== null, `${name}: ${problem}`);
    }
    assert.equal((await eventsOf(scene.exchange, 'MarketResolved', await caughtUp(scene.exchange, scene.node))).length, 3);
  });

  it('they are back and tell the price of then: it still counts, the flags go, and the chain pays', async () => {
    for (const before of [3, 2, 1, 0]) providers.keep({ pyth: 60_300, coinbase: 60_310, binance: 60_320 }, boundary(4) - before);
    providers.away(false);
    await scene.passTo(boundary(4) + 300);
    const paid = await scene.shown(await marketFrom(3), 'is paid', ({ payment }) => payment === 'yes');
    assert.deepEqual([paid.endPrice, paid.outcome, paid.priceMissed], [e8(60_300), 0, false]);
    const { startPrice, priceMissed } = await scene.shown(await marketFrom(4), 'has its strike', ({ startPrice: price }) => price !== null);
    assert.deepEqual([startPrice, priceMissed], [e8(60_300), false]);
    await eventually('nothing is unresolvable', async () => await unresolvable() === 0 ? true : undefined);
  });

  it('a price that never comes: only the administrator ends the market, a day later, and each share is paid one half', async () => {
    const { exchange, node } = scene;
    const market = await marketFrom(4);
    const { marketId } = market;
    await node.split(bob, market, BigInt(10 * ONE));
    await exchange.place(bob, { marketId, side: 1, price: 600_000, size: 10 * ONE });
    await settled(exchange, (await exchange.place(alice, { marketId, price: 600_000, size: 10 * ONE })).position);

    providers.away(true);
    await scene.passTo(boundary(5) + 21);
    await scene.shown(market, 'is flagged', ({ priceMissed }) => priceMissed);
    await refuses(node.operator, market, 'PricesMayCome');
    await scene.passTo(boundary(5) + DAY_S);
    await refuses({ address: scene.sender }, market, 'AccessControlUnauthorizedAccount');
    assert.equal((await scene.shown(market, 'is there', () => true)).resolved, false, 'nothing does that by itself');
    await node.transact(node.operator, halve(market));
    const halved = await scene.shown(market, 'is paid', ({ payment }) => payment === 'half');
    assert.deepEqual([halved.resolved, halved.outcome, halved.endPrice, halved.priceMissed], [true, null, null, true]);
    assert.deepEqual(await exchange.get(`/api/v1/resolution/${marketId}`), { marketId, expired: true, resolved: true, halved: true });

    const client = await gaslessClient({ url: exchange.url, token: await bearerToken(exchange.databaseUrl) });
    for (const wallet of [alice, bob]) {
      const had = await node.usdcOf(wallet);
      await client.relayed('ctf-redemption', await client.bodies.redemption(wallet, { conditionId: marketId }));
      // The relayer may answer before its transaction is in a block.
      await eventually('half of the shares is paid', async () => await node.usdcOf(wallet) === had + BigInt(5 * ONE) || undefined);
    }
  });
});
