/** Quick markets under crashes: a price provider with faults of its own, traders in these markets, and what must hold in the end. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Interface, ZeroHash, type InterfaceAbi } from 'ethers';
import { PYTH_FEEDS } from '../../command/prices/price-sources.js';
import { simulatedPriceE8 } from '../../command/prices/simulated.js';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { decodeCommand } from '../../engine/records/codec.js';
import type { Event, MarketOpened } from '../../engine/records/events.js';
import { LATE_PRICES_MS, PRICE_WINDOW_MS } from '../../engine/rules/limits.js';
import { createReferenceEngine } from '../reference/engine.js';
import type { CrashChain, CrashTrader } from './crash-chain.js';
import { eventsOf, get, type History } from './crash-checks.js';
import { crashDelivery } from './crash-traders.js';
import { relayClientOf, type CrashRelays, type CrashRelaysParts, type Relayed } from './crash-relays.js';
import type { DeployedMarket } from './deployed-chain.js';
import { startHermes, type HermesServer } from './price-servers.js';
import { until } from './until.js';

/** What was published about an asset. */
interface Published {
  readonly second: number;
  /** In units of 1e-8 USD. */
  readonly price: string;
}

interface CrashProviderOptions {
  readonly assets: readonly string[];
  /** Boundaries are the multiples of it since the Unix epoch. */
  readonly intervalS: number;
}

export interface CrashProvider {
  readonly server: HermesServer;
  /** By asset, in order. */
  readonly published: ReadonlyMap<string, readonly Published[]>;
  /** The first second from a boundary on in which a price is published. */
  firstSecond(boundary: number): number;
  /** Publishes a price per second until the signal. */
  publish(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A price comes so long after its second has begun. */
const DELAY_MS = 150;
const AROUND_E8 = 60_000n * 10n ** 8n;

/** One boundary after the other has one of these. */
const PROBLEMS = ['none', 'cut', 'silent', 'failing'] as const;

export async function crashProvider({ assets, intervalS }: CrashProviderOptions): Promise<CrashProvider> {
  const server = await startHermes({ feeds: assets.map(feedOf) });
  const published = new Map(assets.map((asset): [string, Published[]] => [asset, []]));
  const problemOf = (boundary: number) => PROBLEMS[boundary / intervalS % PROBLEMS.length];
  const boundaryNear = (second: number) => Math.round(second / intervalS) * intervalS;
  const live = () => server.clients.filter(({ response }) => !response.destroyed && !response.writableEnded);

  /** Before a silent boundary nothing is published for a second, and for two after it. */
  function isSilent(second: number): boolean {
    const boundary = boundaryNear(second);
    return problemOf(boundary) === 'silent' && second >= boundary - 1 && second < boundary + 2;
  }

  function publishAt(second: number): void {
    const [boundary, before] = [boundaryNear(second), boundaryNear(second + 1)];
    if (second === before - 1 && problemOf(before) === 'cut') for (const client of live()) client.end();
    if (second === boundary && problemOf(boundary) === 'failing') server.refuseNext({ status: 500 }, { status: 500 });
    if (isSilent(second)) return;
    for (const asset of assets) {
      const price = String(simulatedPriceE8({ seed: 'crash', asset, aroundE8: AROUND_E8, second }));
      const id = feedOf(asset);
      published.get(asset)!.push({ second, price });
      const update = { price, conf: '1000000', expo: -8, publish_time: second };
      server.past.set(id, [...server.past.get(id) ?? [], update]);
      for (const client of live()) client.price(id, update);
    }
  }

  return {
    server, published,
    firstSecond(boundary) {
      let second = boundary;
      while (isSilent(second)) second++;
      return second;
    },
    async publish(signal) {
      for (let second = Math.floor(Date.now() / 1_000); !signal.aborted; second++) {
        await sleep(Math.max(0, second * 1_000 + DELAY_MS - Date.now()));
        publishAt(second);
      }
    },
    close: () => server.close(),
  };
}

function feedOf(asset: string): string {
  return PYTH_FEEDS[asset]!;
}

interface QuickOnChain extends DeployedMarket {
  readonly asset: string;
  readonly startTime: number;
}

const USDC = 10n ** 6n;
/** Longer than a market lives, with all that may befall its resolution. */
const RESOLVED_S = 300;
const STAKE = 1_000n * USDC;
/** Estimates would be of a state that other transactions change. */
const GAS = 1_000_000;
const FACTORY = new Interface(marketFactory.abi as InterfaceAbi);
const TOKENS = new Interface(conditionalTokens.abi as InterfaceAbi);

type CrashQuick = ReturnType<typeof crashQuick>;

export function crashQuick(chain: CrashChain) {
  const { contracts, startBlock } = chain.chain;
  const all: QuickOnChain[] = [];
  const tradable: QuickOnChain[] = [];
  let fromBlock = startBlock;

  /** Whoever has means gets shares of each new market. */
  async function look(): Promise<void> {
    const latest = Number(await chain.rpc('eth_blockNumber'));
    const found = fromBlock > latest ? [] : await quickMarketsIn(chain, fromBlock, latest);
    fromBlock = latest + 1;
    for (const market of found) {
      all.push(market);
      for (const trader of chain.traders) if (trader.means === 'rich') await split(trader, market);
      tradable.push(market);
    }
    // One at least is left to those who trade.
    while (tradable.length > 1 && tradable[0]!.expiration <= Date.now() / 1_000) tradable.shift();
  }

  async function split({ wallet, address }: CrashTrader, { marketId }: DeployedMarket): Promise<void> {
    await chain.send(wallet, 'conditionalTokens', 'splitPosition', [contracts.collateral, ZeroHash, marketId, [1n, 2n], STAKE], GAS);
    chain.funds.set(address, chain.funds.get(address)! - STAKE);
  }

  return {
    all, tradable,
    async watch(signal: AbortSignal): Promise<void> {
      for (; !signal.aborted; await sleep(200)) await look();
    },
    /** What the chain pays per share of each outcome; undefined before it is resolved. */
    async payoutsOf({ marketId }: DeployedMarket): Promise<readonly bigint[] | undefined> {
      const denominator = await chain.read('conditionalTokens', 'payoutDenominator', [marketId]) as bigint;
      if (denominator === 0n) return undefined;
      return await Promise.all([0n, 1n].map((i) => chain.read('conditionalTokens', 'payoutNumerators', [marketId, i]) as Promise<bigint>));
    },
    /** The trader's own transaction. Returns what the chain pays for all its shares. */
    async redeem({ wallet }: CrashTrader, { marketId }: DeployedMarket): Promise<bigint> {
      const { logs } = await chain.send(wallet, 'conditionalTokens', 'redeemPositions', [contracts.collateral, ZeroHash, marketId, [1n, 2n]], GAS);
      const paid = logs.map((log) => TOKENS.parseLog({ topics: log.topics, data: log.data })).find((log) => log?.name === 'PayoutRedemption');
      return paid!.args['payout'] as bigint;
    },
  };
}

async function quickMarketsIn({ chain: { contracts }, rpc }: CrashChain, from: number, to: number): Promise<QuickOnChain[]> {
  const range = { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` };
  const logs = await rpc('eth_getLogs', [{ address: contracts.marketFactory, ...range }]) as { topics: string[]; data: string }[];
  const events = logs.map((log) => FACTORY.parseLog(log)).filter((log) => log !== null);
  return events.filter(({ name }) => name === 'QuickMarketCreated').map(({ args: { marketId, asset, startTime, endTime } }) => {
    const { market, yesId, noId } = events.find(({ name, args }) => name === 'MarketCreated' && args['marketId'] === marketId)!.args;
    const word = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`;
    return {
      marketId: marketId as string, asset: asset as string, address: (market as string).toLowerCase(), startTime: Number(startTime),
      expiration: Number(endTime), yesId: word(yesId as bigint), noId: word(noId as bigint),
    };
  });
}

export interface QuickRelays extends Pick<CrashRelays, 'relayed' | 'unsent'> {
  /** Traders without gas enter one market after the other and redeem what they have when it is resolved. Resolves after the signal. */
  relay(signal: AbortSignal): Promise<void>;
  /** Redeems a trader's shares in a resolved market through the relayer. */
  redeem(trader: CrashTrader, market: DeployedMarket): Promise<void>;
  /** How many markets they have entered and left. */
  lives(): number;
}

export function quickRelays(parts: CrashRelaysParts, quick: CrashQuick): QuickRelays {
  const { chain } = parts;
  const notes = { relayed: new Map<string, Relayed>(), unsent: new Set<string>(), refusals: new Set<string>() };
  const { deliver } = crashDelivery(parts);
  const relayClients = new Map<string, ReturnType<typeof relayClientOf>>();
  let lives = 0;

  function relayClientFor(trader: CrashTrader) {
    const relays = relayClients.get(trader.address) ?? relayClientOf(trader, { ...parts, ...notes, deliver });
    relayClients.set(trader.address, relays);
    return relays;
  }

  async function redeem(trader: CrashTrader, { marketId: conditionId }: DeployedMarket): Promise<void> {
    const relays = await relayClientFor(trader);
    await relays.carryOut('ctf-redemption', relays.client.bodies.redemption(trader.wallet, { conditionId }), {});
  }

  async function live(trader: CrashTrader, signal: AbortSignal): Promise<void> {
    const { wallet, address } = trader;
    const relays = await relayClientFor(trader);
    while (!signal.aborted) {
      await sleep(100);
      const market = quick.tradable[0];
      if (market === undefined || !await relays.knows(market, address)) continue;
      const amount = 5n * USDC;
      await relays.carryOut('ctf-split', relays.client.bodies.sets(wallet, 'ctf-split', { conditionId: market.marketId, amount }), {});
      chain.funds.set(address, chain.funds.get(address)! - amount);
      await until(`${market.marketId} is resolved`, async () => signal.aborted || await quick.payoutsOf(market) !== undefined, RESOLVED_S);
      if (signal.aborted) return;
      await redeem(trader, market);
      lives++;
    }
  }

  return {
    ...notes, redeem, lives: () => lives,
    async relay(signal) {
      await Promise.all(chain.traders.filter(({ means }) => means === 'gasless').map((trader) => live(trader, signal)));
    },
  };
}

type QuickOpened = MarketOpened & { readonly quick: NonNullable<MarketOpened['quick']> };
type Priced = Extract<Event, { type: 'StrikePriceSet' | 'EndPriceSet' }>;

/** What is asked about the markets that ended at this time or before; later ones may still be on their way. */
export interface QuickScope {
  readonly untilS: number;
  readonly intervalS: number;
  readonly assets: readonly string[];
}

export function quickMarketsOf(history: History): QuickOpened[] {
  // Other markets are written without the field.
  return eventsOf(history, 'MarketOpened').filter((market): market is QuickOpened => Boolean(market.quick));
}

export function endedOf(history: History, { untilS }: Pick<QuickScope, 'untilS'>): QuickOpened[] {
  return quickMarketsOf(history).filter(({ quick }) => quick.endTime <= untilS);
}

/** Of each asset, each market begins where the one before ends: none is missing, none came twice; and the chain has the same. */
export function provesSequence(history: History, onChain: readonly QuickOnChain[], { intervalS, assets, untilS }: QuickScope): void {
  const opened = quickMarketsOf(history);
  equal(new Set(opened.map(({ marketId }) => marketId)).size, opened.length, 'no market was opened twice');
  for (const asset of assets) {
    const terms = opened.filter(({ quick }) => quick.asset === asset)
      .map(({ quick: { startTime, endTime } }) => [startTime, endTime] as const).sort(([a], [b]) => a - b);
    const [[first]] = terms as [readonly [number, number]];
    equal(first % intervalS, 0);
    deepEqual(terms, terms.map((_, i) => [first + i * intervalS, first + (i + 1) * intervalS]), `quick markets of ${asset}`);
    ok(terms.some(([, end]) => end === untilS), `the last market of ${asset} that was asked for`);
  }
  const shown = ({ marketId, quick: { asset, startTime, endTime } }: QuickOpened) => ({ marketId, asset, startTime, endTime });
  const known = new Set(opened.map(({ marketId }) => marketId));
  const made = onChain.filter(({ marketId }) => known.has(marketId))
    .map(({ marketId, asset, startTime, expiration: endTime }) => ({ marketId, asset, startTime, endTime }));
  deepEqual(inOrder(opened.map(shown)), inOrder(made));
}

/** Each ended market has one strike and one end price, and they are the first that the provider published in their windows. */
export function provesPrices(history: History, provider: CrashProvider, scope: QuickScope): void {
  provesMissed(history);
  const [strikes, ends] = [eventsOf(history, 'StrikePriceSet'), eventsOf(history, 'EndPriceSet')];
  const decided = eventsOf(history, 'QuickMarketDecided');
  for (const { marketId, quick: { asset, startTime, endTime } } of endedOf(history, scope)) {
    const what = `${asset} from ${startTime}, ${marketId}`;
    const [start, end] = [firstPublished(provider, asset, startTime), firstPublished(provider, asset, endTime)];
    const of = <T extends { readonly marketId: string }>(events: readonly T[]) => events.filter((event) => event.marketId === marketId);
    deepEqual(of<Priced>(strikes).map(shownPrice), [start], `the strike of ${what}`);
    deepEqual(of<Priced>(ends).map(shownPrice), [end], `the end price of ${what}`);
    deepEqual(of(decided).map(({ winningOutcome }) => winningOutcome), [BigInt(end!.price) >= BigInt(start!.price) ? 0 : 1], `the outcome of ${what}`);
  }
}

/** A price was missed only where it was recorded when its boundary was late, as when nobody had lived for long enough to ask for it. */
function provesMissed({ entries }: History): void {
  const missed = new Map<string, number>();
  for (const { outcome: { at, events } } of entries) {
    for (const event of events) {
      if (event.type === 'PriceMissed') missed.set(`${event.marketId} ${event.boundary}`, at);
      if (event.type !== 'StrikePriceSet' && event.type !== 'EndPriceSet') continue;
      const missedAt = missed.get(`${event.marketId} ${event.type === 'StrikePriceSet' ? 'start' : 'end'}`);
      if (missedAt !== undefined) ok(at >= missedAt && missedAt >= event.publishedAt + LATE_PRICES_MS, `${JSON.stringify(event)} was missed at ${missedAt}`);
    }
  }
}

function firstPublished({ published }: CrashProvider, asset: string, boundary: number) {
  const first = published.get(asset)!.find(({ second }) => second >= boundary && (second - boundary) * 1_000 <= PRICE_WINDOW_MS);
  return first && { source: 'pyth', price: first.price, publishedAt: first.second * 1_000 };
}

function shownPrice({ source, price, publishedAt }: Priced) {
  return { source, price, publishedAt };
}

/** What was recorded was published, and of a second and asset one price at most, but for those that a boundary of a later market still needed. */
export function provesRecorded(history: History, { published }: CrashProvider): void {
  const recorded = eventsOf(history, 'PriceRecorded');
  const charted = history.entries.filter(({ outcome: { events } }) => !events.some(({ type }) => type === 'StrikePriceSet' || type === 'EndPriceSet'));
  const seconds = eventsOf({ entries: charted }, 'PriceRecorded').map(({ asset, publishedAt }) => `${asset} ${Math.floor(publishedAt / 1_000)}`);
  equal(new Set(seconds).size, seconds.length, 'at most one price per second and asset');
  const known = new Set([...published].flatMap(([asset, prices]) => prices.map(({ second, price }) => `${asset} ${second * 1_000} ${price}`)));
  deepEqual(recorded.filter(({ asset, publishedAt, price }) => !known.has(`${asset} ${publishedAt} ${price}`)), [], 'only what the provider has published');
}

/** An engine that was written from the text of the rules alone decides every recorded command as the service did. */
export function referenceAgrees({ lines }: History): void {
  const reference = createReferenceEngine();
  for (const line of lines) {
    const [, command, outcome] = /"command":(\{.*\}),"outcome":(\{"at":.*\}),"digest":"0x[0-9a-f]{64}"\}$/.exec(line)!;
    const data = Buffer.from(command!);
    equal(reference.step(decodeCommand(data), data).text, outcome);
  }
}

const RESOLVER = new Interface(quickResolver.abi as InterfaceAbi);

async function logsOf({ chain: { startBlock }, rpc }: CrashChain, address: string, abi: Interface) {
  const logs = await rpc('eth_getLogs', [{ address, fromBlock: `0x${startBlock.toString(16)}`, toBlock: 'latest' }]) as { topics: string[]; data: string }[];
  return logs.map((log) => abi.parseLog(log)).filter((log) => log !== null);
}

/** The chain resolved each ended market once, by the prices and with the outcome of the history; and the history says so once. */
export async function provesResolutions(history: History, chain: CrashChain, scope: QuickScope): Promise<void> {
  const logs = await logsOf(chain, chain.chain.contracts.quickResolver, RESOLVER);
  const resolved = logs.filter(({ name }) => name === 'QuickMarketResolved').map(({ args }) => args.toObject());
  const facts = eventsOf(history, 'MarketResolved');
  for (const { marketId } of endedOf(history, scope)) {
    const { strike, end, winningOutcome } = resultOf(history, marketId);
    deepEqual(resolved.filter((each) => each['marketId'] === marketId).map((each) => ({ ...each })), [{
      marketId, startPrice: BigInt(strike.price), startPublishTime: secondOf(strike), endPrice: BigInt(end.price), endPublishTime: secondOf(end),
      winningOutcome: BigInt(winningOutcome),
    }]);
    deepEqual(facts.filter((each) => each.marketId === marketId).map((each) => each.winningOutcome), [winningOutcome]);
  }
  deepEqual(eventsOf(history, 'MarketHalved'), []);
}

/** What the history has of a decided market. */
function resultOf(history: History, marketId: string) {
  const ofMarket = <T extends { readonly marketId: string }>(events: readonly T[]): T => events.find((event) => event.marketId === marketId)!;
  const { winningOutcome } = ofMarket(eventsOf(history, 'QuickMarketDecided'));
  return { strike: ofMarket(eventsOf(history, 'StrikePriceSet')), end: ofMarket(eventsOf(history, 'EndPriceSet')), winningOutcome };
}

function secondOf({ publishedAt }: Priced): bigint {
  return BigInt(Math.floor(publishedAt / 1_000));
}

/** `GET /quick-markets/{asset}/history` shows the ended markets as the history has them. */
export async function provesHistoryEndpoint(history: History, url: string, scope: QuickScope): Promise<void> {
  for (const asset of scope.assets) {
    const { history: items } = await get(url, `/api/v1/quick-markets/${asset}/history`, history.entries.length - 1);
    const shown = items as readonly Readonly<Record<string, unknown>>[];
    const expected = endedOf(history, scope).filter(({ quick }) => quick.asset === asset).sort((a, b) => b.quick.endTime - a.quick.endTime)
      .map(({ marketId, quick: { startTime, endTime } }) => {
        const { strike, end, winningOutcome: outcome } = resultOf(history, marketId);
        return {
          marketId, startTime, endTime, startPrice: strike.price, endPrice: end.price, outcome, resolved: true, priceMissed: false,
          payment: outcome === 0 ? 'yes' : 'no', priceSource: 'pyth',
        };
      });
    deepEqual(shown.filter(({ endTime }) => Number(endTime) <= scope.untilS)
      .map(({ marketId, startTime, endTime, startPrice, endPrice, outcome, resolved, priceMissed, payment, priceSource }) => ({
        marketId, startTime: Number(startTime), endTime: Number(endTime), startPrice: String(startPrice), endPrice: String(endPrice),
        outcome: Number(outcome), resolved, priceMissed, payment, priceSource,
      })), expected);
  }
}

/** What the chain paid for redeemed shares is added to the traders' funds. */
export async function addPayouts(chain: CrashChain): Promise<void> {
  for (const log of await logsOf(chain, chain.chain.contracts.conditionalTokens, TOKENS)) {
    if (log.name !== 'PayoutRedemption') continue;
    const { redeemer, payout } = log.args.toObject() as { redeemer: string; payout: bigint };
    const address = redeemer.toLowerCase();
    chain.funds.set(address, chain.funds.get(address)! + payout);
  }
}

function inOrder<T extends { readonly marketId: string }>(markets: readonly T[]): T[] {
  return [...markets].sort((a, b) => a.marketId < b.marketId ? -1 : 1);
}
