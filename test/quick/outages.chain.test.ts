/** Quick markets when something was away: the chain over a start and an end, the whole service over several boundaries, a price of a late start. */
import assert from 'node:assert/strict';
import { Interface, type InterfaceAbi } from 'ethers';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { eventually } from '../support/exchange-on-chain.js';
import { INTERVAL_S, quickExchange, type QuickExchange } from '../support/quick-exchange.js';

const RESOLVER = new Interface(quickResolver.abi as InterfaceAbi);
const e8 = (usd: number) => BigInt(usd) * 10n ** 8n;

describe('quick markets when something was away', function () {
  this.timeout(300_000);
  let scene: QuickExchange;

  before(async () => { scene = await quickExchange(); });
  after(() => scene.close());

  const boundary = (n: number) => scene.first + n * INTERVAL_S;
  const prices = (n: number) => ({ BTC: e8(60_000 + n), ETH: e8(3_000 - n) });
  /** The numbers of the boundaries at which markets of an asset start. */
  const starts = async (asset: string) => (await scene.opened())
    .filter((market) => market.asset === asset).map(({ startTime }) => (startTime - scene.first) / INTERVAL_S).sort((a, b) => a - b);
  /** Each market was made once, resolved at most once, and by one transaction each. */
  async function assertNoDouble(): Promise<void> {
    const { node, sender } = scene;
    const opened = await scene.opened();
    assert.equal(new Set(opened.map(({ asset, startTime }) => `${asset} ${startTime}`)).size, opened.length);
    const logs = await node.rpc('eth_getLogs', [{
      address: node.chain.contracts.quickResolver, fromBlock: '0x0', topics: [RESOLVER.getEvent('QuickMarketResolved')!.topicHash],
    }]) as object[];
    assert.equal(Number(await node.rpc('eth_getTransactionCount', [sender, 'latest'])), opened.length + logs.length);
  }

  it('the chain, over a start and an end: decided meanwhile, resolved when it is back; a market that has begun is made late, at its first price', async () => {
    for (const asset of ['BTC', 'ETH']) await scene.market(asset, boundary(0));
    await scene.passTo(boundary(0) + 2);
    await scene.tell(boundary(0), prices(0));
    for (const asset of ['BTC', 'ETH']) await scene.market(asset, boundary(2));
    const [ending, whole] = [await scene.market('BTC', boundary(0)), await scene.market('BTC', boundary(1))];
    scene.proxy.fate = () => 'drop';
    for (const n of [1, 2, 3]) {
      await scene.passTo(boundary(n) + 2);
      await scene.tell(boundary(n), prices(n));
    }
    for (const market of [ending, whole]) {
      const shown = await scene.shown(market, 'is decided', ({ outcome }) => outcome === 0);
      assert.deepEqual([shown.resolved, shown.payment], [true, 'none']);
    }
    const { active } = await scene.exchange.get('/api/v1/quick-markets/BTC');
    assert.equal(active, false, 'nobody has made it');
    await scene.passTo(boundary(3) + 100);
    scene.proxy.fate = () => 'pass';
    for (const market of [ending, whole]) await scene.shown(market, 'is paid', ({ payment }) => payment === 'yes');
    for (const asset of ['BTC', 'ETH'] as const) {
      const { startPrice } = await scene.shown(await scene.market(asset, boundary(3)), 'has its strike', ({ startPrice: price }) => price !== null);
      assert.equal(startPrice, Number(prices(3)[asset]), 'at the price of its start, though it was made later');
    }
    for (const asset of ['BTC', 'ETH']) await scene.market(asset, boundary(5));
    assert.deepEqual(await starts('BTC'), [0, 1, 2, 3, 4, 5]);
    await assertNoDouble();
  });

  it('the service, over several boundaries: what the sources still tell counts, what they do not is missed, and nothing is made for what is over', async () => {
    const known = (asset: string) => Promise.all([3, 4, 5].map((n) => scene.market(asset, boundary(n))));
    const [btc, eth] = [await known('BTC'), await known('ETH')];
    await scene.whileStopped(async () => {
      await scene.leap(boundary(9) + 100);
      for (const n of [4, 5]) scene.publish(boundary(n), prices(n));
      // Pyth has lost the price of ETH at the end, and has none of it at the start of the market that runs.
      scene.publish(boundary(6), { BTC: prices(6).BTC });
      scene.publish(boundary(9), { BTC: prices(9).BTC });
    });
    await scene.inHaste(Promise.all([
      ...btc.map((market) => scene.shown(market, 'is paid', ({ payment }) => payment === 'yes')),
      ...eth.slice(0, 2).map((market) => scene.shown(market, 'is paid', ({ payment }) => payment === 'no')),
    ]));
    const missed = await scene.shown(eth[2]!, 'is flagged', ({ priceMissed }) => priceMissed);
    assert.deepEqual([missed.startPrice, missed.endPrice, missed.outcome, missed.payment], [Number(prices(5).ETH), null, null, 'none']);
    await scene.passTo(boundary(9) + 120);
    await eventually('it is told', () => Promise.resolve(scene.alerts().some((text) => text.includes(eth[2]!.marketId)) || undefined));
    const late = await scene.inHaste(scene.shown(await scene.market('BTC', boundary(9)), 'has its strike', ({ startPrice }) => startPrice !== null));
    assert.equal(late.startPrice, Number(prices(9).BTC));
    for (const asset of ['BTC', 'ETH']) await scene.market(asset, boundary(11));
    assert.deepEqual([await starts('BTC'), await starts('ETH')], [[0, 1, 2, 3, 4, 5, 9, 10, 11], [0, 1, 2, 3, 4, 5, 10, 11]]);
    await assertNoDouble();
  });

  it('the first price of a late market: it is made once a source tells it', async () => {
    const { missingMarkets } = (await scene.health()).quickMarkets[0];
    assert.equal(missingMarkets, 1);
    const { active } = await scene.exchange.get('/api/v1/quick-markets/ETH');
    assert.equal(active, false);
    scene.publish(boundary(9), { ETH: prices(9).ETH });
    await scene.passTo(boundary(9) + 200);
    const market = await scene.market('ETH', boundary(9));
    const { startPrice } = await scene.inHaste(scene.shown(market, 'has its strike', ({ startPrice: price }) => price !== null));
    assert.equal(startPrice, Number(prices(9).ETH));
    await assertNoDouble();
  });

  it('the service, until little of a market is left: that one is not made, the next one is', async () => {
    await scene.whileStopped(async () => {
      await scene.leap(boundary(14) + INTERVAL_S * 0.7);
      for (const n of [10, 11, 12, 14]) scene.publish(boundary(n), prices(n));
    });
    await scene.inHaste(Promise.all(([['BTC', 'yes'], ['ETH', 'no']] as const).map(async ([asset, payment]) => {
      for (const n of [9, 10, 11]) await scene.shown(await scene.market(asset, boundary(n)), 'is paid', (shown) => shown.payment === payment);
      await scene.market(asset, boundary(16));
    })));
    assert.deepEqual(await starts('BTC'), [0, 1, 2, 3, 4, 5, 9, 10, 11, 15, 16]);
    assert.deepEqual(await starts('ETH'), [0, 1, 2, 3, 4, 5, 9, 10, 11, 15, 16]);
    assert.equal((await scene.health()).quickMarkets[0].missingMarkets, 0);
    const flagged = (await Promise.all(['BTC', 'ETH'].map((asset) => scene.history(asset)))).flat().filter(({ priceMissed }) => priceMissed);
    assert.deepEqual(flagged.map(({ startTime }) => startTime), [boundary(5)], 'that of ETH, and no other');
    await assertNoDouble();
  });
});
