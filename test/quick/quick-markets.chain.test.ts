/** Quick markets at an exchange on a chain, with simulated prices: made ahead of time, decided and resolved, each once, also over a restart. */
import assert from 'node:assert/strict';
import { Interface, id, type InterfaceAbi } from 'ethers';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { simulatedPriceE8 } from '../../command/prices/simulated.js';
import type { MarketOpened } from '../../engine/records/events.js';
import { FACTORY, caughtUp, eventsOf, eventually, readiness, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { pass } from '../support/quick-exchange.js';
import { testMachine, type TestMachine } from '../support/test-machine.js';

const INTERVAL_S = 20;
const RESOLVER = new Interface(quickResolver.abi as InterfaceAbi);
const priceAt = (second: number) => simulatedPriceE8({ seed: 'prediction-exchange', asset: 'BTC', aroundE8: 60_000n * 10n ** 8n, second });

type QuickOpened = MarketOpened & { readonly quick: NonNullable<MarketOpened['quick']> };

describe('quick markets at an exchange on a chain', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let machine: TestMachine;
  let sender: string;
  const lines: string[] = [];

  before(async () => {
    [node, machine] = [await tradedChain(), testMachine()];
    const key = node.accounts[8]!;
    sender = key.address.toLowerCase();
    await node.createMarket();
    const configured = node.configured({ quickKey: key.privateKey, quick: sender });
    exchange = await exchangeStack({
      PRICE_SOURCES: 'simulated', QUICK_ASSETS: 'BTC', QUICK_INTERVAL_S: String(INTERVAL_S), CLOCK_MAX_JUMP_S: '604800', LOG_LEVEL: 'error',
    }, [configured], machine, (line) => { lines.push(line); });
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
  async function quickHealth() {
    const { clock: { trusted }, quickMarkets: [health] } = await readiness<{
      clock: { trusted: boolean }; quickMarkets: [{ missingMarkets: number; problem: string | null }];
    }>(exchange);
    return { trusted, ...health };
  }
  const allAreMade = () => eventually('the markets are there', async () => {
    const { trusted, missingMarkets, problem } = await quickHealth();
    return trusted && problem === null && missingMarkets === 0 ? true : undefined;
  });
  /** Lets time leap to shortly before a second, and then pass by itself: a price is heard when it is told, and no market is missing then. */
  async function passTo(second: number): Promise<void> {
    await pass({ machine, node }, second - 1);
    await eventually('the second has come', () => Promise.resolve(machine.clocks.wall() > second * 1_000 || undefined));
    await allAreMade();
  }
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
    const { problem } = await eventually('the key is checked', async () => {
      const health = await quickHealth();
      return health.problem === null ? undefined : health;
    });
    const { marketFactory, quickResolver: resolver } = node.chain.contracts;
    assert.equal(problem, `the key ${sender} lacks CREATOR_ROLE at ${marketFactory} and OPERATOR_ROLE at ${resolver}: the contracts' administrator can grant it`);
    await grant(marketFactory, 'CREATOR_ROLE');
    await grant(resolver, 'OPERATOR_ROLE');
    await allAreMade();
    assert.ok((await opened()).length >= 2);
  });

  it('begin and end at the first price of their boundary, and are resolved by these two prices', async () => {
    const [first] = await opened();
    await passTo(first!.quick.startTime);
    await passTo(first!.quick.endTime);
    const [resolved] = await resolutions(1);
    const { quick: { asset, startTime, endTime } } = (await opened()).find(({ marketId }) => marketId === resolved!['marketId'])!;
    // On a busy machine a second may pass without a price.
    const [start, end] = [Number(resolved!['startPublishTime']), Number(resolved!['endPublishTime'])];
    const [startPrice, endPrice] = [priceAt(start), priceAt(end)];
    for (const late of [start - startTime, end - endTime]) assert.ok(late >= 0 && late <= 5, `${late} s after the boundary`);
    assert.equal(asset, 'BTC');
    assert.deepEqual({ ...resolved }, {
      marketId: resolved!['marketId'], startPrice, startPublishTime: BigInt(start), endPrice, endPublishTime: BigInt(end),
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
    const running = before.find(({ quick: { endTime } }) => endTime * 1_000 > machine.clocks.wall())!;
    await pass({ machine, node }, running.quick.endTime + 3);
    exchange = await exchange.restart();
    const resolved = await eventually('the market is resolved', async () => (await resolutions(1)).find(({ marketId }) => marketId === running.marketId));
    assert.deepEqual([resolved['endPrice'], resolved['endPublishTime']], [priceAt(running.quick.endTime), BigInt(running.quick.endTime)]);
    for (const { quick: { endTime } } of (await opened()).slice(0, 3)) await passTo(endTime);
    await resolutions(3);
    await assertEachOnce();
    const position = await caughtUp(exchange, node);
    assert.deepEqual(await eventsOf(exchange, 'PriceMissed', position), []);
    const sent = Number(await node.rpc('eth_getTransactionCount', [sender, 'latest']));
    const done = (await opened()).length + (await resolutions(1)).length;
    assert.ok(sent === done || sent === done + 1, `${sent} transactions for ${done} creations and resolutions`);
  });

  it('resolved by somebody else\'s prices are an alert, and the service is not ready, though all goes on', async () => {
    const [before] = (await opened()).filter(({ quick: { endTime } }) => (endTime - INTERVAL_S / 2) * 1_000 > machine.clocks.wall());
    const { marketId, contractAddress, quick: { endTime } } = before!;
    const resolver = node.chain.contracts.quickResolver;
    const role = (name: 'grantRole' | 'revokeRole', account: string) =>
      node.transact(node.operator, { to: resolver, data: FACTORY.encodeFunctionData(name, [id('OPERATOR_ROLE'), account]) });
    // Without the role nobody resolves it first. Time then passes by itself.
    await pass({ machine, node }, endTime - 3);
    await role('revokeRole', sender);
    await eventually('the market is decided', async () => (
      (await eventsOf(exchange, 'QuickMarketDecided', await caughtUp(exchange, node))).some((event) => event.marketId === marketId) || undefined));
    const position = await caughtUp(exchange, node);
    const own = <T extends { marketId: string }>(events: readonly T[]): T => events.find((event) => event.marketId === marketId)!;
    const strike = own(await eventsOf(exchange, 'StrikePriceSet', position));
    const end = own(await eventsOf(exchange, 'EndPriceSet', position));
    const thief = node.accounts[7]!;
    await role('grantRole', thief.address);
    await eventually('the service is ready', async () => (await readiness(exchange)).ready || undefined);
    const falsePrice = BigInt(end.price) + 1n;
    const data = RESOLVER.encodeFunctionData('resolve', [
      contractAddress, strike.price, Math.floor(strike.publishedAt / 1_000), falsePrice, Math.floor(end.publishedAt / 1_000),
    ]);
    await node.transact(thief, { to: resolver, data });
    const { status, reason, chains } = await eventually('the service says why it is not ready', async () => {
      const ready = await readiness(exchange);
      const reason = ready.reasons.find((each) => each.includes(marketId));
      return reason === undefined ? undefined : { ...ready, reason };
    });
    assert.equal(status, 503);
    assert.match(reason, new RegExp(`the quick market ${marketId} was resolved by other prices, or to another outcome, than the history decided by transaction 0x[0-9a-f]{64}: `
      + `.*"endPrice":"${falsePrice}".*, where the history has .*"endPrice":"${end.price}"`));
    assert.equal(lines.filter((line) => line.includes(`the quick market ${marketId} was resolved by other prices`)).length, 1, 'one alert');
    assert.deepEqual(chains.map(({ stopped, contradictedMarkets }) => [stopped, contradictedMarkets]), [[null, 1]]);
    assert.match(await (await fetch(`${exchange.url}/metrics`)).text(), /^exchange_chain_resolutions_contradicted\{chain="31337"\} 1$/m);
    const resolved = await eventsOf(exchange, 'MarketResolved', await caughtUp(exchange, node));
    assert.ok(resolved.some((event) => event.marketId === marketId), 'the chain has paid by it, and it is recorded');
  });
});
