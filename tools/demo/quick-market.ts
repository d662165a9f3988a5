/** The demonstration's quick market: two wallets without gas trade on whether a price rises; prices decide, the chain pays, the winner redeems. */
import { approve, split, tradeAndSettle } from './acts.js';
import type { Api, ApiConfig, ApiMarket } from './api.js';
import { MINTED, SPLIT, type GaslessScene } from './life-scene.js';
import { countdown, expect, given, inUsd, say, shown, step, timeOf, until } from './progress.js';
import { addUp, noClaims, redeemOne, showInvested, showPayouts, type Redeemed } from './redemption.js';
import { relayerOf } from './relayer.js';
import { BOUGHT, costAt, freePrice, showHistory } from './trade.js';
import type { LifeParts } from './whole-life.js';

/** As the service tells it while it runs; prices are in units of 1e-8 USD. */
interface QuickMarketAnswer {
  readonly marketId: string;
  readonly asset: string;
  readonly startPrice: number | null;
  readonly startTime: number;
  readonly endTime: number;
  readonly priceSource: string;
  readonly contractAddress: string;
  readonly priceMissed: boolean;
}

interface ActiveQuickMarket { readonly quickMarket: QuickMarketAnswer | null; readonly bestAskPrice: number }

interface QuickMarket extends QuickMarketAnswer {
  readonly startPrice: number;
}

interface EndedQuickMarket extends QuickMarketAnswer {
  readonly endPrice: number | null;
  readonly outcome: number | null;
  readonly payment: string;
}

interface QuickScene extends GaslessScene {
  readonly quick: QuickMarket;
}

interface PriceEvent { readonly asset: string; readonly price: number; readonly timestamp: number; readonly source: string }

const LIFETIME_S = 86_400;
const EVENTS_SHOWN = 2;
/** What follows the first requests takes about so many times as long, until the trade is settled. */
const TRADE_BY_FIRST_REQUESTS = 5;
const TRADE_AT_LEAST_S = 10;

/** What is further ahead than that is not waited for. */
const LONGEST_WAIT_S = 45;

/** A quick market and its first price are made within seconds. */
const LATE_S = 15;
/** A trade is never given more than that part of the interval. */
const MOST_OF_INTERVAL = 0.75;

export async function quickMarket(parts: LifeParts): Promise<void> {
  const { api, config: { prices: { assets: [asset], sources } }, chain, side, token } = parts;
  if (asset === undefined || sources.length === 0 || chain.quickOperator === null) {
    return say(`\nThere are no quick markets here: ${chain.quickOperator === null ? `nobody makes them on chain ${chain.chainId}` : 'this service has no prices'}.`);
  }
  step(`A quick market: will ${asset} be at least as high at its end as at its start? Two fresh wallets have ${shown(MINTED)} test USDC each, and no ether`);
  const wallet = () => side.wallet({ collateral: MINTED, sends: false });
  const [seller, buyer] = [await wallet(), await wallet()];
  say(`  seller ${seller.address}\n  buyer  ${buyer.address}`);
  const relayer = relayerOf({ api, chain, token, deadline: BigInt(parts.config.serverTime + LIFETIME_S) });
  const startedMs = performance.now();
  const splits = { name: 'seller', wallet: seller, amount: SPLIT.seller };
  await approve({ chain, side, relayer, seller }, [splits]);
  const needsS = Math.max(TRADE_AT_LEAST_S, Math.ceil((performance.now() - startedMs) / 1_000 * TRADE_BY_FIRST_REQUESTS));
  const quick = await runningQuickMarket(parts, { asset, needsS });
  if (quick === undefined) return;
  await showPrices(api, asset);
  const market = marketOf(quick);
  const scene: QuickScene = { api, config: parts.config, chain, side, relayer, seller, buyer, market, quick, price: await freePrice(api, market.id) };
  await tradeOn(scene);
  const leftS = quick.endTime - (await api.get<ApiConfig>('/api/v1/config')).serverTime;
  if (leftS > LONGEST_WAIT_S) {
    await addUp(scene, { markets: [market], bonds: 0 });
    return say(`\nThe demonstration does not wait ${leftS} s for the end of the quick market: it stops here, and nothing is decided or redeemed.\n`
      + 'The rest is shown on a new stack with QUICK_INTERVAL_S=25, and by npm run demo while no service runs at the default address.');
  }
  await payOut(scene, await decided(scene, leftS));
}

interface MarketNeeds {
  readonly asset: string;
  /** How long the market must run yet. */
  readonly needsS: number;
}

/** The quick market of the asset, with its first price. Undefined, with a line that says why, when the next one is too far ahead. */
async function runningQuickMarket(
  { api, chain, config: { quickMarkets: { intervalS } } }: Pick<LifeParts, 'api' | 'chain' | 'config'>, { asset, needsS }: MarketNeeds,
): Promise<QuickMarket | undefined> {
  const needs = Math.min(needsS, Math.floor(intervalS * MOST_OF_INTERVAL));
  let said = 0;
  const found = await until(`a quick market of ${asset} begins and has its first price`, async () => {
    const { serverTime } = await api.get<ApiConfig>('/api/v1/config');
    const { quickMarket } = await api.get<ActiveQuickMarket>(`/api/v1/quick-markets/${asset}?chain_id=${chain.chainId}`);
    const isUsable = quickMarket !== null && !quickMarket.priceMissed && quickMarket.endTime - serverTime >= needs;
    if (isUsable && quickMarket.startPrice !== null) return { ...quickMarket, startPrice: quickMarket.startPrice };
    const sinceStart = serverTime % intervalS;
    if (sinceStart < LATE_S && (quickMarket === null || isUsable)) return undefined;
    const untilNext = intervalS - sinceStart;
    if (untilNext > LONGEST_WAIT_S) {
      say(`No quick market of ${asset} can be traded in now, and the demonstration does not wait ${untilNext} s for the next one`);
      return 'none';
    }
    if (serverTime + untilNext > said) say(`The next quick market of ${asset} begins in ${untilNext} s`);
    said = serverTime + untilNext;
    return undefined;
  });
  if (found === 'none') return undefined;
  const { marketId, startTime, endTime, startPrice, priceSource } = found;
  say(`Quick market ${marketId}\n  from ${timeOf(startTime)} to ${timeOf(endTime)}, strike price ${inUsd(startPrice)} from ${priceSource}`);
  return found;
}

function marketOf({ marketId: id, asset, contractAddress, endTime: expiration }: QuickMarket): ApiMarket {
  return { id, question: `Quick market on ${asset}`, contractAddress, expiration };
}

/** Shows the next prices of the stream, each with its record in the history. */
async function showPrices(api: Api, asset: string): Promise<void> {
  const path = `/api/v1/prices/${asset}/stream`;
  say(`Prices as ${path} sends them`);
  for (const { id, data } of await api.events(path, EVENTS_SHOWN)) {
    const { price, timestamp, source } = JSON.parse(data) as PriceEvent;
    say(`  ${asset} ${inUsd(price)} at ${new Date(timestamp).toISOString()} from ${source}`);
    await showHistory(api, Number(given(id, 'the id of an event')));
  }
}

/** The seller keeps NO and so says down, the buyer says up. */
async function tradeOn(scene: QuickScene): Promise<void> {
  const { api, chain, seller, market, quick, price } = scene;
  step(`The seller says DOWN: it splits ${shown(SPLIT.seller)} USDC and sells YES. The buyer says UP and buys YES`);
  await split(scene, [{ name: 'seller', wallet: seller, market, amount: SPLIT.seller }]);
  const { bid } = await tradeAndSettle(scene, { seller: SPLIT.seller, buyer: 0 });
  const { bestAskPrice } = await api.get<ActiveQuickMarket>(`/api/v1/quick-markets/${quick.asset}?chain_id=${chain.chainId}`, bid.position);
  expect('the rest of the ask is the best ask of the quick market', bestAskPrice, price);
  say(`The best ask for UP is ${shown(bestAskPrice)}`);
}

/** Waits for the end. Returns the quick market with its outcome, which its two prices and the chain agree on. */
async function decided({ api, chain, side, market, quick }: QuickScene, leftS: number): Promise<EndedQuickMarket & { readonly outcome: 0 | 1 }> {
  step(`The quick market ends at ${timeOf(quick.endTime)}, and the price at that moment decides`);
  await countdown('until the quick market ends', leftS);
  const path = `/api/v1/quick-markets/${quick.asset}/history?chain_id=${chain.chainId}`;
  const past = async () => {
    const { history } = await api.get<{ readonly history: readonly EndedQuickMarket[] }>(path);
    return history.find(({ marketId }) => marketId === quick.marketId);
  };
  const ended = await until('the end price has come', async () => {
    const found = await past();
    if (found?.priceMissed) throw new Error(`no source had a price of ${quick.asset} at the end: the quick market is not decided`);
    return found?.outcome == null ? undefined : found;
  });
  const [startPrice, endPrice] = [quick.startPrice, given(ended.endPrice, 'the end price')];
  const outcome = endPrice >= startPrice ? 0 : 1;
  expect('the strike has not changed', ended.startPrice, startPrice);
  expect('the outcome follows from the prices', ended.outcome, outcome);
  say(`  from ${inUsd(startPrice)} to ${inUsd(endPrice)}: ${outcome === 0 ? 'UP, so YES wins' : 'DOWN, so NO wins'}`);
  await until('the chain has resolved the quick market', async () => (await past())?.payment === (outcome === 0 ? 'yes' : 'no') || undefined);
  const payouts = await side.payouts(market);
  expect('the chain pays the winner', payouts[outcome] > 0n && payouts[1 - outcome] === 0n, true);
  const { txHash, ...byPrices } = await side.quickPrices(market);
  expect('the chain resolves by the start price', byPrices.startPrice, BigInt(startPrice));
  expect('the chain resolves by the end price', byPrices.endPrice, BigInt(endPrice));
  const { winningOutcome } = await api.get<{ readonly winningOutcome?: number }>(`/api/v1/resolution/${market.id}`);
  expect('the exchange names the winner', winningOutcome, outcome);
  say(`The chain pays by the same two prices: transaction ${txHash}`);
  return { ...ended, outcome };
}

/** Whoever has shares of the winner redeems them; the others are worth nothing. */
async function payOut(scene: QuickScene, { outcome: winner }: { readonly outcome: 0 | 1 }): Promise<void> {
  const { seller, buyer, market, price, side } = scene;
  const left = SPLIT.seller - BOUGHT;
  const ofSeller: Redeemed = {
    name: 'seller', wallet: seller, market, yes: left, no: SPLIT.seller, invested: SPLIT.seller - BOUGHT / 2, winner,
    payout: winner === 0 ? left : SPLIT.seller,
  };
  const ofBuyer: Redeemed = { name: 'buyer', wallet: buyer, market, yes: BOUGHT, no: 0, invested: costAt(price), payout: winner === 0 ? BOUGHT : 0, winner };
  const paid = [ofSeller, ...ofBuyer.payout > 0 ? [ofBuyer] : []];
  step(winner === 0 ? 'Both redeem their YES' : 'The seller redeems its NO, and the YES of the buyer is worth nothing');
  await showInvested(scene, [ofSeller, ofBuyer]);
  await Promise.all(paid.map((each) => redeemOne(scene, each)));
  await showPayouts(scene, paid);
  if (ofBuyer.payout === 0) say(`  buyer   has lost ${shown(ofBuyer.invested)}`);
  expect('the buyer has what UP has paid', (await side.balances(buyer, market)).collateral, BigInt(MINTED - costAt(price) + ofBuyer.payout));
  await noClaims(scene);
  await addUp(scene, { markets: [], bonds: 0 });
}
