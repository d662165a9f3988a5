/** Two hours of quick markets: eight of each asset made, traded, decided, resolved and redeemed, no gap and no double; then their history again. */
import assert from 'node:assert/strict';
import { Interface, type InterfaceAbi, type Wallet } from 'ethers';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { decodeCommand } from '../../engine/records/codec.js';
import type { Event } from '../../engine/records/events.js';
import type { LogRecord } from '../../engine/log/log.js';
import { openLog } from '../../engine/log/open-log.js';
import { engines } from '../reference/compared-engines.js';
import { ONE, assertAnchored, assertPositionsAreBalances, caughtUp, eventually, recordedEvents, settled, type RecordedEvents } from '../support/exchange-on-chain.js';
import { alice, bob, carol, exchangeStack, lower } from '../harness/exchange.js';
import { bearerToken, gaslessClient, type GaslessClient } from '../support/gasless-wallet.js';
import { appendAll, readAll } from '../support/log-records.js';
import { testDatabase } from '../support/postgres.js';
import { INTERVAL_S, quickExchange, type QuickExchange, type QuickMarket, type ShownMarket } from '../support/quick-exchange.js';

const RESOLVER = new Interface(quickResolver.abi as InterfaceAbi);
const usd = (dollars: number) => BigInt(Math.round(dollars * 1e8));
/** At each boundary. There are ties, and prices that differ by the smallest unit. */
const PRICES: Readonly<Record<string, readonly bigint[]>> = {
  BTC: [60_000, 60_010.5, 60_010.5, 59_990, 60_100, 60_050, 60_050.00000001, 60_050, 60_200].map(usd),
  ETH: [3_000, 2_990, 2_995, 2_995, 2_980, 2_981, 2_979, 2_979, 2_979].map(usd),
};
const ASSETS = Object.keys(PRICES);
const COUNT = 8;
/** By the rule, which a tie does not fall under: NO (1) where the price at the end is below that at the start. */
const OUTCOMES: Readonly<Record<string, readonly (0 | 1)[]>> = { BTC: [0, 0, 1, 0, 1, 0, 1, 0], ETH: [1, 0, 0, 1, 0, 1, 0, 0] };
const SPLIT = BigInt(10 * ONE);

describe('two hours of quick markets', function () {
  this.timeout(400_000);
  let scene: QuickExchange;
  let client: GaslessClient;
  let history: RecordedEvents[];
  const markets: { readonly market: QuickMarket; readonly outcome: number; readonly number: number }[] = [];
  const hadBefore = new Map<Wallet, bigint>();

  before(async () => {
    scene = await quickExchange();
    await scene.equip(alice, bob, carol);
    for (const wallet of [alice, bob, carol]) hadBefore.set(wallet, await scene.node.usdcOf(wallet));
    client = await gaslessClient({ url: scene.exchange.url, token: await bearerToken(scene.exchange.databaseUrl) });
  });
  after(() => scene.close());

  const boundary = (n: number) => scene.first + n * INTERVAL_S;
  const ofType = <T extends Event['type']>(type: T) => (
    history.flatMap(({ events }) => events).filter((event): event is Extract<Event, { type: T }> => event.type === type));

  /** Bob sells 4 YES to Alice and 3 NO to Carol out of 10 of each. */
  async function trade(market: QuickMarket): Promise<number> {
    const { node, exchange } = scene;
    const { marketId } = market;
    await node.split(bob, market, SPLIT);
    await exchange.place(bob, { marketId, side: 1, outcome: 0, price: 600_000, size: 4 * ONE });
    await exchange.place(bob, { marketId, side: 1, outcome: 1, price: 450_000, size: 3 * ONE });
    const yes = await exchange.place(alice, { marketId, outcome: 0, price: 620_000, size: 4 * ONE });
    const no = await exchange.place(carol, { marketId, outcome: 1, price: 450_000, size: 3 * ONE });
    assert.deepEqual([yes.body['matches'], no.body['matches']], [1, 1]);
    // What rests when the market closes is cancelled.
    await exchange.place(alice, { marketId, outcome: 0, price: 10_000, size: ONE });
    return no.position;
  }

  /** The winner of a trade redeems; Bob waits until the end, to redeem everything at once. */
  async function redeem({ marketId }: QuickMarket, outcome: number): Promise<void> {
    const winner = outcome === 0 ? alice : carol;
    await client.relayed('ctf-redemption', await client.bodies.redemption(winner, { conditionId: marketId }));
  }

  for (let n = 0; n <= COUNT; n++) {
    it(n === 0 ? 'begin at the first boundary' : `market ${n}: closed, decided by the price of its boundaries, resolved on the chain, redeemed`, async () => {
      const { exchange, node } = scene;
      await scene.passTo(boundary(n) + 2);
      await scene.tell(boundary(n), Object.fromEntries(ASSETS.map((asset) => [asset, PRICES[asset]![n]!])));
      let last = 0;
      for (const asset of ASSETS) {
        const ended = n > 0 ? await scene.market(asset, boundary(n - 1)) : undefined;
        if (ended !== undefined) {
          const outcome = OUTCOMES[asset]![n - 1]!;
          await scene.shown(ended, 'is paid', ({ payment }) => payment === (outcome === 0 ? 'yes' : 'no'));
          markets.push({ market: ended, outcome, number: n - 1 });
          await redeem(ended, outcome);
        }
        if (n < COUNT) last = await trade(await scene.market(asset, boundary(n)));
      }
      if (n < COUNT) await settled(exchange, last);
      last = await caughtUp(exchange, node);
      if (n === COUNT) return;
      for (const asset of ASSETS) {
        const market = await scene.market(asset, boundary(n));
        await assertPositionsAreBalances(exchange, { node, market, traders: [alice, bob, carol], position: last });
        const { active, quickMarket } = await exchange.get(`/api/v1/quick-markets/${asset}`, last) as { active: boolean; quickMarket: ShownMarket };
        assert.deepEqual([active, quickMarket.marketId, quickMarket.startPrice], [true, market.marketId, Number(PRICES[asset]![n])]);
      }
    });
  }

  it('have no gap and no double, in the history and on the chain', async () => {
    const { node, exchange, first, sender } = scene;
    const opened = await scene.opened();
    history = await recordedEvents(exchange, await caughtUp(exchange, node));
    for (const asset of ASSETS) {
      const ofAsset = opened.filter((market) => market.asset === asset).sort((a, b) => a.startTime - b.startTime);
      const starts = ofAsset.map(({ startTime, endTime }) => [startTime, endTime]);
      assert.ok(starts.length > COUNT);
      assert.deepEqual(starts, starts.map((_, n) => [first + n * INTERVAL_S, first + (n + 1) * INTERVAL_S]));
    }
    const asked = { address: node.chain.contracts.quickResolver, fromBlock: '0x0' };
    const logs = await node.rpc('eth_getLogs', [asked]) as { topics: string[]; data: string }[];
    const parsed = logs.map((log) => RESOLVER.parseLog(log)!).filter(({ name }) => name === 'QuickMarketResolved');
    const resolved = parsed.map(({ args }) => ({ ...args.toObject() })) as { marketId: string }[];
    const byMarket = (a: { marketId: string }, b: { marketId: string }) => a.marketId < b.marketId ? -1 : 1;
    assert.deepEqual(resolved.sort(byMarket), markets.map(({ market: { marketId, asset }, outcome, number }) => ({
      marketId, startPrice: PRICES[asset]![number], startPublishTime: BigInt(boundary(number)), endPrice: PRICES[asset]![number + 1],
      endPublishTime: BigInt(boundary(number + 1)), winningOutcome: BigInt(outcome),
    })).sort(byMarket));
    const once = (type: 'QuickMarketDecided' | 'MarketResolved' | 'MarketClosed') => ofType(type).map(({ marketId }) => marketId).sort();
    const ids = markets.map(({ market }) => market.marketId).sort();
    assert.deepEqual([once('QuickMarketDecided'), once('MarketResolved'), once('MarketClosed')], [ids, ids, ids]);
    assert.deepEqual(ofType('FillFailed'), []);
    assert.equal(ofType('FillSettled').length, 2 * 2 * COUNT);
    const sent = Number(await node.rpc('eth_getTransactionCount', [sender, 'latest']));
    assert.equal(sent, opened.length + resolved.length, 'one transaction per market made and per market resolved');
  });

  it('are shown with the recorded prices, the outcome by the written rule, and their payment', async () => {
    for (const asset of ASSETS) {
      const over = (await scene.history(asset)).filter(({ endTime }) => endTime <= boundary(COUNT)).reverse();
      const prices = PRICES[asset]!.map(Number);
      const shown = over.map((each) => [each.startTime, each.startPrice, each.endPrice, each.resolved, each.outcome, each.priceMissed, each.payment]);
      assert.deepEqual(shown,
        OUTCOMES[asset]!.map((outcome, n) => [boundary(n), prices[n], prices[n + 1], true, outcome, false, outcome === 0 ? 'yes' : 'no']));
    }
  });

  it('pay out exactly what was put in, and nothing is left', async () => {
    const { node, exchange } = scene;
    const items = await Promise.all(markets.map(async ({ market: { marketId, address } }) => (
      { ...await client.bodies.redemptionItem(bob, { conditionId: marketId }), marketAddress: address })));
    const { status, body } = await client.post('batch-ctf-redemption', { chainId: client.chainId, owner: bob.address, redemptions: items });
    assert.deepEqual([status, body.success], [200, true], JSON.stringify(body));
    const redeemed = await eventually('everything is redeemed', async () => {
      history = await recordedEvents(exchange, await caughtUp(exchange, node));
      const found = ofType('PositionRedeemed');
      return found.length >= 2 * markets.length ? found : undefined;
    });
    const last = await caughtUp(exchange, node);
    for (const { market: { marketId }, outcome } of markets) {
      const payouts = redeemed.filter((each) => each.marketId === marketId).map(({ user, payout }) => [user, payout]).sort();
      const expected = outcome === 0 ? [[lower(alice), 4 * ONE], [lower(bob), 6 * ONE]] : [[lower(carol), 3 * ONE], [lower(bob), 7 * ONE]];
      assert.deepEqual(payouts, expected.map(([user, payout]) => [user, String(payout)]).sort());
    }
    assert.equal(await node.usdcOf({ address: node.chain.contracts.conditionalTokens }), 0n, 'the payouts are all that was split');
    const yes = BigInt(markets.filter(({ outcome }) => outcome === 0).length);
    const no = BigInt(markets.length) - yes;
    const [paidYes, paidNo] = [2_400_000n, 1_350_000n];
    const gained = async (wallet: Wallet) => await node.usdcOf(wallet) - hadBefore.get(wallet)!;
    assert.deepEqual([await gained(alice), await gained(carol)], [4_000_000n * yes - paidYes * (yes + no), 3_000_000n * no - paidNo * (yes + no)]);
    assert.equal(await gained(alice) + await gained(bob) + await gained(carol), 0n);
    for (const { market } of markets) await assertPositionsAreBalances(exchange, { node, market, traders: [alice, carol, bob], position: last });
    assert.ok(await assertAnchored(exchange, node, last) > 0);
  });

  it('replay to the same strikes, outcomes and digests: by a fresh engine, by the reference engine, and where the sources have another order', async () => {
    await scene.exchange.stop();
    const log = await openLog(scene.exchange.databaseUrl);
    const records = await readAll(log, 'commands').finally(() => log.close());
    const replayed = Object.values(engines).map((create) => {
      const engine = create();
      return records.map(({ position, data }) => {
        const { digest, outcome } = engine.step(decodeCommand(data), data);
        return { position, digest, ...outcome };
      });
    });
    replayed.push(await replayedElsewhere(records));
    const strikes = (all: readonly RecordedEvents[]) => all.flatMap(({ events }) => events)
      .filter(({ type }) => ['StrikePriceSet', 'EndPriceSet', 'QuickMarketDecided'].includes(type));
    assert.equal(strikes(history).length, (3 * COUNT + 1) * ASSETS.length);
    for (const again of replayed) {
      assert.deepEqual(strikes(again.slice(0, history.length)), strikes(history));
      assert.deepEqual(again.slice(0, history.length).map(({ digest }) => digest), history.map(({ digest }) => digest));
    }
    assert.equal(new Set(replayed.map((again) => again.at(-1)!.digest)).size, 1, 'all of them end with one digest');
  });

  /** By a service of its own that is given the commands alone, and has other sources in another order. */
  async function replayedElsewhere(records: readonly LogRecord[]): Promise<RecordedEvents[]> {
    const database = await testDatabase();
    const log = await openLog(database.url);
    await appendAll(log, 'commands', records).finally(() => log.close());
    const other = await exchangeStack({
      LOG_URL: database.url, PRICE_SOURCES: 'binance,pyth', PRICE_URLS: `pyth=${scene.hermes.url}`, QUICK_ASSETS: 'ETH,BTC', CLOCK_MAX_JUMP_S: '604800',
      ROLES: 'engine,projections,query',
    }, [scene.configured], scene.machine);
    try {
      const all = await recordedEvents(other, records.length - 1);
      return all.slice(0, records.length);
    } finally {
      await other.close();
      await database.drop();
    }
  }
});
