/** What must hold of quick markets after the crashes: history, chain, provider, reference engine and API say the same. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { Interface, type InterfaceAbi } from 'ethers';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { decodeCommand } from '../../engine/records/codec.js';
import type { Event, MarketOpened } from '../../engine/records/events.js';
import { LATE_PRICES_MS, PRICE_WINDOW_MS } from '../../engine/rules/limits.js';
import { createReferenceEngine } from '../reference/engine.js';
import type { CrashChain } from './crash-chain.js';
import { eventsOf, get, type History } from './crash-checks.js';
import type { CrashProvider } from './crash-provider.js';
import type { QuickOnChain } from './crash-quick.js';

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
const TOKENS = new Interface(conditionalTokens.abi as InterfaceAbi);

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
