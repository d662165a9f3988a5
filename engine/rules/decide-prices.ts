/** Decides what prices cause: a price is recorded, a quick market's prices are set, its outcome follows. */
import type { OpenMarket, RecordPrice } from '../records/commands.js';
import type { Event, MarketOpened } from '../records/events.js';
import { NO, YES } from '../records/fields.js';
import { boundaryAt, dueBoundary, lateAt, servedBy, unresolvedMarkets } from './boundaries.js';
import { rejected } from './cancelled.js';
import { MAX_BOUNDARY_MARKETS, MAX_PRICE_LEAD_MS, MAX_QUICK_S, MIN_QUICK_S } from './limits.js';
import type { Boundary, CountedPrice, Market, RecordedPrice, State } from './state.js';

export function decideRecordPrice(state: State, command: RecordPrice): Event[] {
  const { asset, source, rank, price, publishedAt } = command;
  if (publishedAt > state.now + MAX_PRICE_LEAD_MS) return rejected('future_price', asset);
  const served = servedBy(state, command);
  const newest = state.newestPrices.get(asset);
  const isNewer = newest === undefined || Math.floor(publishedAt / 1_000) > Math.floor(newest / 1_000);
  if (!isNewer && served.length === 0) return rejected('old_price', asset);
  const events: Event[] = [{ type: 'PriceRecorded', v: 1, asset, source, rank, price, publishedAt }];
  for (const boundary of served) {
    if (rank === 0 || state.now >= lateAt(boundary)) events.push(...priceEvents(state, boundary, command));
  }
  return events;
}

/** The events of the earliest boundary that is due, if there is one. */
export function decideBoundary(state: State): Event[] {
  const boundary = dueBoundary(state);
  if (boundary === undefined) return [];
  return boundary.best === undefined ? missedEvents(state, boundary) : priceEvents(state, boundary, boundary.best);
}

/** Why a quick market with these terms cannot be opened; undefined if it can. */
export function refusalOfQuick(state: State, { quick, expiration }: OpenMarket): 'invalid_expiration' | 'too_many_markets' | undefined {
  if (quick === undefined) return undefined;
  const { asset, startTime } = quick;
  if (expiration - startTime < MIN_QUICK_S || expiration - startTime > MAX_QUICK_S) return 'invalid_expiration';
  const isFull = (time: number) => (boundaryAt(state, asset, time)?.markets.length ?? 0) >= MAX_BOUNDARY_MARKETS;
  return isFull(startTime) || isFull(expiration) ? 'too_many_markets' : undefined;
}

/**
 * What a new quick market is told at once, since the markets before it were told. A market of an old version is not
 * told what was missed.
 */
export function knownPrices(state: State, { marketId, quick }: MarketOpened, ifOver: OpenMarket['ifOver']): Event[] {
  if (quick === null) return [];
  const start = boundaryAt(state, quick.asset, quick.startTime);
  const end = boundaryAt(state, quick.asset, quick.endTime);
  const [strike, last] = [priceOf(start), priceOf(end)];
  const isMissed = (boundary: Boundary | undefined) => ifOver === 'close' && boundary?.missed === true;
  const events: Event[] = [];
  if (strike !== undefined) events.push({ type: 'StrikePriceSet', v: 1, marketId, ...counted(strike) });
  else if (isMissed(start)) events.push({ type: 'PriceMissed', v: 1, marketId, boundary: 'start' });
  if (last !== undefined) events.push({ type: 'EndPriceSet', v: 1, marketId, ...counted(last) });
  else if (isMissed(end)) events.push({ type: 'PriceMissed', v: 1, marketId, boundary: 'end' });
  if (strike !== undefined && last !== undefined) events.push(decided(marketId, strike, last));
  return events;
}

function priceOf(boundary: Boundary | undefined): RecordedPrice | undefined {
  return boundary?.decided === true ? boundary.best : undefined;
}

/** The boundary's price is this one: for each of its markets, in the order of opening. */
function priceEvents(state: State, boundary: Boundary, observation: RecordedPrice): Event[] {
  const price = counted(observation);
  return unresolvedMarkets(state, boundary).flatMap((market): Event[] => {
    const { marketId, quick } = market;
    if (isStart(market, boundary)) {
      const set: Event = { type: 'StrikePriceSet', v: 1, marketId, ...price };
      return quick?.end === undefined ? [set] : [set, decided(marketId, price, quick.end)];
    }
    const set: Event = { type: 'EndPriceSet', v: 1, marketId, ...price };
    return quick?.strike === undefined ? [set] : [set, decided(marketId, quick.strike, price)];
  });
}

function missedEvents(state: State, boundary: Boundary): Event[] {
  return unresolvedMarkets(state, boundary).map((market) => (
    { type: 'PriceMissed', v: 1, marketId: market.marketId, boundary: isStart(market, boundary) ? 'start' : 'end' }));
}

function isStart({ quick }: Market, { time }: Boundary): boolean {
  return quick?.startTime === time;
}

function decided(marketId: string, strike: CountedPrice, end: CountedPrice): Event {
  return { type: 'QuickMarketDecided', v: 1, marketId, winningOutcome: BigInt(end.price) >= BigInt(strike.price) ? YES : NO };
}

function counted({ source, price, publishedAt }: CountedPrice): CountedPrice {
  return { source, price, publishedAt };
}
