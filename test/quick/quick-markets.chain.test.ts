/** Quick markets at an exchange on a chain, with simulated prices: made ahead of time, decided and resolved, each once, also over a restart. */
import assert from 'node:assert/strict';
import { Interface, id, type InterfaceAbi } from 'ethers';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { simulatedPriceE8 } from '../../command/prices/simulated.js';
import type { MarketOpened } from '../../engine/records/events.js';
import { FACTORY, caughtUp, eventsOf, eventually, readiness, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { exchangeStack, type ExchangeStack } from '../support/exchange-stack.js';

const INTERVAL_S = 20;
const RESOLVER = new Interface(quickResolver.abi as InterfaceAbi);
const priceAt = (second: number) => simulatedPriceE8({ seed: 'prediction-exchange', asset: 'BTC', aroundE8: 60_000n * 10n ** 8n, second });

type QuickOpened = MarketOpened & { readonly quick: NonNullable<MarketOpened['quick']> };

describe('quick markets at an exchange on a chain', function () {
  this.timeout(240_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let sender: string;

  before(async () => {
    node = await tradedChain();
    const key = node.accounts[8]!;
    sender = key.address.toLowerCase();
    await node.createMarket();
    const configured = node.configured({ quickKey: key.privateKey, quick: sender });
    exchange = await exchangeStack({ PRICE_SOURCES: 'simulated', QUICK_ASSETS: 'BTC', QUICK_INTERVAL_S: String(INTERVAL_S), QUICK_AHEAD: '2' }, [configured]);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  async function grant(contract: string, role: string): Promise<void> {
    const data = FACTORY.encodeFunctionData('grantRole', [id(role), sender]);
    await node.transact(node.operator, { to: contract, data });
  }
  async function opened(): Promise<QuickOpened[]> {
    const markets = await eventsOf(exchange, 'MarketOpened', await caughtUp(exchange, node));
    // The history writes other markets without the field.
    return markets.filter((market): market is QuickOpened => Boolean(market.quick));
  }
  const quickHealth = async () => (
    (await readiness(exchange)) as unknown as { quickMarkets: [{ missingMarkets: number; trouble: string | null }] }).quickMarkets[0];
  /** Resolves once so many markets are resolved, with the facts of the chain about them. */
  const resolutions = (count: number) => eventually(`${count} markets are resolved`, async () => {
    const logs = await node.rpc('eth_getLogs', [{ address: node.chain.contracts.quickResolver, fromBlock: '0x0' }]) as { topics: string[]; data: string }[];
    const resolved = logs.map((log) => RESOLVER.parseLog(log)).filter((log) => log?.name === 'QuickMarketResolved').map((log) => log!.args.toObject());
    return resolved.length >= count ? resolved : undefined;
  });
  async function assertEachOnce(): Promise<void> {
    const terms = (await opened()).map(({ quick: { startTime, endTime } }) => [startTime, endTime] as const);
    const [[first] = [0]] = terms;
    assert.deepEqual(terms, terms.map((_, i) => [first + i * INTERVAL_S, first + (i + 1) * INTERVAL_S]), 'in order, without a gap, none twice');
    assert.equal(first % INTERVAL_S, 0);
  }

  it('wait for a key that may send, and say what it lacks', async () => {
    const { trouble } = await eventually('the key is checked', async () => {
      const health = await quickHealth();
      return health.trouble === null ? undefined : health;
    });
    const { marketFactory, quickResolver: resolver } = node.chain.contracts;
    assert.equal(trouble, `the key ${sender} lacks CREATOR_ROLE at ${marketFactory} and OPERATOR_ROLE at ${resolver}: the contracts' administrator can grant it`);
    await grant(marketFactory, 'CREATOR_ROLE');
    await grant(resolver, 'OPERATOR_ROLE');
    await eventually('the markets are there', async () => {
      const { missingMarkets, trouble: now } = await quickHealth();
      return now === null && missingMarkets === 0 ? true : undefined;
    });
    assert.ok((await opened()).length >= 2);
  });

  it('begin and end at the first price of their boundary, and are resolved by these two prices', async () => {
    const [resolved] = await resolutions(1);
    const { quick: { asset, startTime, endTime } } = (await opened()).find(({ marketId }) => marketId === resolved!['marketId'])!;
    const [startPrice, endPrice] = [priceAt(startTime), priceAt(endTime)];
    assert.equal(asset, 'BTC');
    assert.deepEqual({ ...resolved }, {
      marketId: resolved!['marketId'], startPrice, startPublishTime: BigInt(startTime), endPrice, endPublishTime: BigInt(endTime),
      winningOutcome: endPrice >= startPrice ? 0n : 1n,
    });
    const [fact] = await eventsOf(exchange, 'MarketResolved', await caughtUp(exchange, node));
    assert.deepEqual([fact!.marketId, fact!.winningOutcome], [resolved!['marketId'], Number(resolved!['winningOutcome'])]);
    await assertEachOnce();
    const metrics = await (await fetch(`${exchange.url}/metrics`)).text();
    for (const line of [/^exchange_price_source_connected\{source="simulated"\} 1$/m, /^exchange_price_age_seconds\{asset="BTC"\} \d$/m,
      /^exchange_quick_markets_unresolvable\{chain="\d+"\} 0$/m]) assert.match(metrics, line);
  });

  it('go on after the exchange was away over a boundary: with its true price, and nothing twice', async () => {
    const before = await opened();
    await exchange.stop();
    const running = before.find(({ quick: { endTime } }) => endTime * 1_000 > Date.now())!;
    await eventually('the boundary has passed', () => Promise.resolve(Date.now() > running.quick.endTime * 1_000 + 3_000 ? true : undefined));
    exchange = await exchange.restart();
    const resolved = await eventually('the market is resolved', async () => (await resolutions(1)).find(({ marketId }) => marketId === running.marketId));
    assert.deepEqual([resolved['endPrice'], resolved['endPublishTime']], [priceAt(running.quick.endTime), BigInt(running.quick.endTime)]);
    await resolutions(3);
    await assertEachOnce();
    const position = await caughtUp(exchange, node);
    assert.deepEqual(await eventsOf(exchange, 'PriceMissed', position), []);
    const sent = Number(await node.rpc('eth_getTransactionCount', [sender, 'latest']));
    const done = (await opened()).length + (await resolutions(1)).length;
    assert.ok(sent === done || sent === done + 1, `${sent} transactions for ${done} creations and resolutions`);
  });
});
