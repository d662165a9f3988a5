/** Quick markets by the rules of docs/matching-rules.md, computed anew from the recorded prices, which are what the sources told. */
import type { Event } from '../../../engine/records/events.js';
import type { PriceWorld, SimSourceName } from '../prices/price-world.js';
import type { Strikes } from '../world/weather.js';
import type { Broken } from './names.js';

type Recorded = Extract<Event, { type: 'PriceRecorded' }>;

interface Market {
  readonly marketId: string;
  readonly startTime: number;
  readonly endTime: number;
  strike?: string;
  end?: string;
  outcome?: number;
  resolved: boolean;
}

/** Recorded while the boundary was open, in its window. */
interface Boundary {
  readonly time: number;
  readonly prices: Recorded[];
  decided: Recorded | undefined;
}

export interface PricesWatch {
  /** One event of the history, and the engine's time after its command. */
  take(event: Event, nowMs: number): void;
  /** The decided outcome; undefined before. */
  outcome(marketId: string): number | undefined;
  counts(): { readonly opened: number; readonly decided: number; readonly resolved: number };
  /** Decided markets that the history does not call resolved, and boundaries that should be decided and are not. */
  unfinished(nowMs: number): string[];
}

const WINDOW_MS = 15_000;
const LATE_MS = 20_000;

const isLate = (time: number, nowMs: number): boolean => nowMs >= 1_000 * time + LATE_MS;

export function watchPrices({ prices, strikes, broken }: { prices: PriceWorld; strikes: Strikes; broken: Broken }): PricesWatch {
  const markets = new Map<string, Market>();
  const boundaries = new Map<number, Boundary>();
  const boundaryAt = (time: number): Boundary => {
    const known = boundaries.get(time) ?? { time, prices: [], decided: undefined };
    boundaries.set(time, known);
    return known;
  };

  function record(event: Recorded): void {
    const told = prices.published(event.source as SimSourceName, Math.floor(event.publishedAt / 1_000));
    if (told?.publishedAtMs !== event.publishedAt || String(told.priceE8) !== event.price) {
      broken('only what a source told is recorded', `${event.source}, ${event.price}, ${event.publishedAt}: it told ${told?.priceE8}, ${told?.publishedAtMs}`);
    }
    for (const boundary of boundaries.values()) {
      const afterMs = event.publishedAt - 1_000 * boundary.time;
      if (boundary.decided === undefined && afterMs >= 0 && afterMs <= WINDOW_MS) boundary.prices.push(event);
    }
  }

  function decide(event: Extract<Event, { type: 'StrikePriceSet' | 'EndPriceSet' }>, nowMs: number): void {
    const [market, which] = [markets.get(event.marketId), event.type === 'StrikePriceSet' ? 'strike' : 'end'] as const;
    if (market === undefined) return broken('a boundary is decided by the best price', `${event.type} of the unknown market ${event.marketId}`);
    if (market[which] !== undefined) broken('each boundary is decided once', `${which} of ${event.marketId}`);
    const boundary = boundaryAt(which === 'strike' ? market.startTime : market.endTime);
    const best = boundary.decided ?? [...boundary.prices].sort((a, b) => a.rank - b.rank || a.publishedAt - b.publishedAt)[0];
    if (best === undefined) return broken('what no source told is never decided', `${which} of ${event.marketId} at ${boundary.time}`);
    if (event.price !== best.price || event.publishedAt !== best.publishedAt || event.source !== best.source) {
      broken('a boundary is decided by the best price', `${which} of ${event.marketId} is ${event.price} of ${event.source}, the best is ${best.price} of ${best.source}`);
    }
    if (best.rank !== 0 && !isLate(boundary.time, nowMs)) broken('a boundary is decided by the best price', `${boundary.time} by rank ${best.rank} before it was late`);
    boundary.decided = best;
    market[which] = event.price;
  }

  return {
    take(event, nowMs) {
      switch (event.type) {
        case 'MarketOpened':
          if (!('quick' in event) || event.quick === null) return;
          markets.set(event.marketId, { marketId: event.marketId, startTime: event.quick.startTime, endTime: event.quick.endTime, resolved: false });
          for (const time of [event.quick.startTime, event.quick.endTime]) boundaryAt(time);
          break;
        case 'PriceRecorded': record(event); break;
        case 'StrikePriceSet':
        case 'EndPriceSet': decide(event, nowMs); break;
        case 'QuickMarketDecided': close(markets.get(event.marketId), event, broken); break;
        case 'PriceMissed': {
          const market = markets.get(event.marketId);
          const time = (event.boundary === 'start' ? market?.startTime : market?.endTime) ?? 0;
          strikes.struck('boundary without a price', `${event.boundary} of ${event.marketId.slice(0, 10)}`);
          if (boundaryAt(time).prices.length > 0 || !isLate(time, nowMs)) broken('a boundary is decided by the best price', `${time} is called missed`);
          break;
        }
        case 'MarketResolved': {
          const market = markets.get(event.marketId);
          if (market !== undefined) market.resolved = true;
          break;
        }
        default:
      }
    },
    outcome: (marketId) => markets.get(marketId)?.outcome,
    counts: () => countsOf([...markets.values()]),
    unfinished: (nowMs) => unfinished([...markets.values()], [...boundaries.values()], nowMs),
  };
}

function countsOf(markets: readonly Market[]): ReturnType<PricesWatch['counts']> {
  const count = (is: (market: Market) => boolean): number => markets.filter(is).length;
  return { opened: markets.length, decided: count(({ outcome }) => outcome !== undefined), resolved: count(({ resolved }) => resolved) };
}

function unfinished(markets: readonly Market[], boundaries: readonly Boundary[], nowMs: number): string[] {
  return [
    ...markets.filter(({ outcome, resolved }) => outcome !== undefined && !resolved).map(({ marketId }) => `the decided market ${marketId} is not resolved`),
    ...boundaries.filter(({ time, prices, decided }) => decided === undefined && (prices.length > 0 || !isLate(time, nowMs)))
      .map(({ time }) => `the boundary ${time} is not decided`),
  ];
}

/** Notes a market's outcome, which follows from its prices. */
function close(market: Market | undefined, { marketId, winningOutcome }: Extract<Event, { type: 'QuickMarketDecided' }>, broken: Broken): void {
  if (market?.strike === undefined || market.end === undefined) return broken('an outcome follows from its prices', `${marketId} lacks a price`);
  const outcome = BigInt(market.end) >= BigInt(market.strike) ? 0 : 1;
  if (outcome !== winningOutcome) broken('an outcome follows from its prices', `${marketId} from ${market.strike} to ${market.end} is decided as ${winningOutcome}`);
  market.outcome = outcome;
}
