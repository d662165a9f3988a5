/** An exchange with quick markets, on a chain and a machine whose time a test lets pass: prices from provider servers, and what readers see. */
import assert from 'node:assert/strict';
import { id, type Wallet } from 'ethers';
import { PYTH_FEEDS } from '../../command/prices/price-sources.js';
import { pause } from '../../engine/waiting.js';
import type { PricesState, QuickMarketsState } from '../../command/prices/role-state.js';
import type { RelayerState } from '../../command/relayer/role-state.js';
import type { DeployedMarket } from './deployed-chain.js';
import { FACTORY, caughtUp, eventually, readiness, recordedEvents, tradedChain, type TradedChain } from './exchange-on-chain.js';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { startHermes, type HermesServer } from './price-servers.js';
import { startRpcProxy } from './proxies.js';
import { testMachine, type TestMachine } from './test-machine.js';

export const INTERVAL_S = 900;
/** From the start of the exchange to the first boundary: so little of the market before it is left that it is not made. */
const EARLY_S = 200;
/** A source whose word was lost, since nobody listened yet, speaks again after so long. */
const SPEAK_AGAIN_MS = 100;
/** How far time may leap while a test is in haste: no boundary comes nearer than the test wants it. */
const HASTE_S = 60;
const HASTE_STEP_S = 3;

export interface QuickMarket extends DeployedMarket {
  readonly asset: string;
  readonly startTime: number;
  readonly endTime: number;
}

/** Prices in units of 1e-8 USD by asset. */
export type Prices = Readonly<Record<string, bigint>>;

/** A quick market as the history's endpoint shows it. */
export interface ShownMarket {
  readonly marketId: string;
  readonly startTime: number;
  readonly endTime: number;
  readonly startPrice: number | null;
  readonly priceSource: string;
  readonly endPrice: number | null;
  readonly resolved: boolean;
  readonly outcome: number | null;
  readonly priceMissed: boolean;
  readonly payment: string;
}

export type QuickExchange = Awaited<ReturnType<typeof quickExchange>>;

interface Health {
  readonly status: number;
  readonly reasons: readonly string[];
  readonly clock: { readonly trusted: boolean };
  readonly prices: readonly [PricesState];
  readonly quickMarkets: readonly [QuickMarketsState];
  readonly relays: readonly [RelayerState];
}

/** Starts it before its first boundary, `first`. Time passes as on any machine, and leaps with `passTo`. */
export async function quickExchange({ settings = {} }: { readonly settings?: Record<string, string> } = {}) {
  const [node, hermes, machine] = [await tradedChain(), await startHermes({ feeds: Object.values(PYTH_FEEDS) }), testMachine()];
  const lines: string[] = [];
  const first = (Math.ceil(Date.now() / 1_000 / INTERVAL_S) + 1) * INTERVAL_S;
  await pass({ machine, node }, first - EARLY_S);
  const [quick, relayer] = [node.accounts[8]!, node.accounts[7]!];
  await grant(node, quick.address);
  const proxy = await startRpcProxy(node.url);
  const configured = node.configured({
    rpcUrls: [proxy.url], quickKey: quick.privateKey, quick: quick.address.toLowerCase(), relayerKey: relayer.privateKey,
    relayer: relayer.address.toLowerCase(),
  });
  // A market of the other kind, which nothing here may disturb.
  const standard = await node.createMarket();
  let exchange = await exchangeStack({
    PRICE_SOURCES: 'pyth', PRICE_URLS: `pyth=${hermes.url}`, QUICK_INTERVAL_S: String(INTERVAL_S), CLOCK_MAX_JUMP_S: '604800', LOG_LEVEL: 'warn', ...settings,
  }, [configured], machine, (line) => { lines.push(line); });
  const current = () => exchange;

  return {
    node, proxy, hermes, machine, configured, first, standard, sender: quick.address.toLowerCase(),
    get exchange(): ExchangeStack { return exchange; },
    nowS: () => machine.clocks.wall() / 1_000,
    ...seenOf(current, node),
    ...pythOf(current, hermes),
    /** Lets time pass on the machine and on the chain until a second, and until the process trusts its clock and hears the lane again. */
    async passTo(second: number): Promise<void> {
      await pass({ machine, node }, second);
      await eventually('the clock is trusted', async () => {
        const { clock, relays: [relay] } = await healthOf(exchange);
        // The lane speaks every few seconds, and time has leapt.
        return clock.trusted && relay.problem?.includes('no process works') !== true ? true : undefined;
      });
    },
    /** The same while the exchange is stopped. */
    leap: (second: number) => pass({ machine, node }, second),
    /** Resolves as the work does. Time passes in small leaps meanwhile: what the exchange does only some seconds later, it does soon. */
    async inHaste<T>(work: Promise<T>): Promise<T> {
      let isOver = false;
      const watched = work.finally(() => { isOver = true; });
      watched.catch(() => undefined);
      for (let passedS = 0; !isOver && passedS < HASTE_S; passedS += HASTE_STEP_S) {
        await pass({ machine, node }, machine.clocks.wall() / 1_000 + HASTE_STEP_S);
        await Promise.race([watched.catch(() => undefined), pause(100)]);
      }
      return await watched;
    },
    /** Stops the exchange, does something, and starts it again. */
    async whileStopped(act: () => Promise<unknown>): Promise<void> {
      await exchange.stop();
      await act();
      exchange = await exchange.restart();
    },
    /** What an operator has been alerted by: log lines of level error. */
    alerts: () => lines.map((line) => JSON.parse(line) as { level: string; msg: string }).filter(({ level }) => level === 'error').map(({ msg }) => msg),
    async equip(...wallets: readonly Wallet[]): Promise<void> {
      for (const wallet of wallets) await node.equip(wallet, { usdc: 1_000_000_000n });
    },
    async close(): Promise<void> {
      await exchange.close();
      await Promise.all([hermes.close(), proxy.close()]);
      await node.stop();
    },
  };
}

const healthOf = (exchange: ExchangeStack) => readiness<Health>(exchange);

/** What readers and operators see. */
function seenOf(exchange: () => ExchangeStack, node: TradedChain) {
  /** The quick markets of the history, in the order of opening. */
  async function opened(): Promise<QuickMarket[]> {
    const events = (await recordedEvents(exchange(), await caughtUp(exchange(), node))).flatMap((record) => record.events);
    return events.flatMap((event) => {
      if (event.type !== 'MarketOpened' || !event.quick) return [];
      const { marketId, contractAddress, expiration, quick: { asset, startTime, endTime } } = event;
      const tokens = events.find((each) => each.type === 'MarketTokenized' && each.marketId === marketId);
      assert.ok(tokens?.type === 'MarketTokenized');
      return [{ marketId, address: contractAddress, expiration, yesId: tokens.yesToken, noId: tokens.noToken, asset, startTime, endTime }];
    });
  }
  /** The entries of an asset's history of quick markets, the latest end first. */
  const history = async (asset: string) => (await exchange().get(`/api/v1/quick-markets/${asset}/history`) as { history: ShownMarket[] }).history;
  return {
    opened, history,
    health: () => healthOf(exchange()),
    /** Resolves with the market of an asset that starts at a time, as soon as there is one. */
    market: (asset: string, startTime: number) => eventually(`the market of ${asset} from ${startTime}`, async () => (
      (await opened()).find((market) => market.asset === asset && market.startTime === startTime))),
    /** Resolves once a market's entry in that history is as wanted. */
    shown: ({ asset, marketId }: QuickMarket, what: string, wanted: (market: ShownMarket) => boolean) => eventually(`${asset}: ${what}`, async () => (
      (await history(asset)).find((market) => market.marketId === marketId && wanted(market)))),
  };
}

/** What Pyth says. */
function pythOf(exchange: () => ExchangeStack, hermes: HermesServer) {
  /** Pyth has these prices of a boundary for whoever asks. */
  function publish(boundary: number, prices: Prices): void {
    for (const [asset, price] of Object.entries(prices)) {
      const told = around(boundary, price).map(([second, each]) => ({ price: String(each), conf: '1', expo: -8, publish_time: second }));
      hermes.past.set(PYTH_FEEDS[asset]!, [...hermes.past.get(PYTH_FEEDS[asset]!) ?? [], ...told]);
    }
  }
  /** Pyth sends them to whoever listens. */
  function stream(boundary: number, prices: Prices): void {
    for (const [i, [second]] of around(boundary, 0n).entries()) {
      const updates = Object.entries(prices).map(([asset, price]) => (
        [PYTH_FEEDS[asset]!, { price: String(around(boundary, price)[i]![1]), conf: '1', publish_time: second }] as const));
      for (const client of hermes.clients) client.prices(Object.fromEntries(updates));
    }
  }
  /** Resolves once the process has heard the source just now; it may have to connect again first. Time has leapt since the source spoke last. */
  async function heard(source: string, speak: () => void): Promise<void> {
    let spokenMs = -Infinity;
    await eventually(`${source} is heard`, async () => {
      if (performance.now() - spokenMs > SPEAK_AGAIN_MS) {
        speak();
        spokenMs = performance.now();
      }
      const found = (await healthOf(exchange())).prices[0].sources.find(({ name }) => name === source);
      return found?.connected === true && found.sinceHeardS === 0 ? true : undefined;
    });
  }
  return {
    publish, stream, heard,
    /** Pyth publishes a boundary's price, and other ones around it, and has them for whoever asks later. Resolves once they are heard. */
    async tell(boundary: number, prices: Prices): Promise<void> {
      publish(boundary, prices);
      await heard('pyth', () => { stream(boundary, prices); });
    },
  };
}

/** The published prices around a boundary: only that of the boundary's own second is the right one. */
function around(boundary: number, price: bigint): readonly (readonly [second: number, price: bigint])[] {
  return [[boundary - 2, price * 1_002n / 1_000n], [boundary - 1, price * 999n / 1_000n], [boundary, price], [boundary + 1, price * 1_003n / 1_000n]];
}

/** Lets time pass on a machine and on a chain until a second. Whole seconds, so that the two stay together. */
export async function pass({ machine, node }: { readonly machine: TestMachine; readonly node: TradedChain }, second: number): Promise<void> {
  const seconds = Math.max(0, Math.ceil(second - machine.clocks.wall() / 1_000));
  await node.rpc('evm_increaseTime', [seconds]);
  await node.rpc('evm_mine');
  machine.passedMs += seconds * 1_000;
}

async function grant(node: TradedChain, holder: string): Promise<void> {
  const { marketFactory, quickResolver } = node.chain.contracts;
  for (const [contract, role] of [[marketFactory, 'CREATOR_ROLE'], [quickResolver, 'OPERATOR_ROLE']] as const) {
    await node.transact(node.operator, { to: contract, data: FACTORY.encodeFunctionData('grantRole', [id(role), holder]) });
  }
}
