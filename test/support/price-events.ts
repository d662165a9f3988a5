/** Prices and what becomes of quick markets, spread over a history of outcomes: late ones, missed ones, of markets that are not quick too. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Event } from '../../engine/records/events.js';
import type { MarketOutcome } from '../../engine/records/fields.js';
import { createRandom } from './random-commands.js';

const ASSETS = ['BTC', 'ETH'] as const;
const HOUR_MS = 3_600_000;

/** The same outcomes, every market of the kind quick with an asset and an interval, and some with events of prices added. */
export function withPriceEvents(outcomes: readonly CommandOutcome[], seed: number): CommandOutcome[] {
  const random = createRandom(seed ^ 0x9e1c);
  const below = (n: number) => random() % n;
  const asset = () => ASSETS[below(2)]!;
  const markets: string[] = [];
  const market = () => markets[below(Math.min(4, markets.length))]!;
  let publishedAt = 1_700_000_000_000;
  const price = () => ({ source: below(2) === 0 ? 'pyth' : 'coinbase', price: below(9) === 0 ? String(2n ** 63n - 1n) : String(1 + below(1e9)) });

  const told: (() => Event)[] = [
    () => {
      publishedAt += below(20) === 0 ? HOUR_MS : below(120_000);
      return { type: 'PriceRecorded', v: 1, asset: asset(), rank: below(3), ...price(), publishedAt: publishedAt - below(4) * 400_000 };
    },
    () => ({ type: 'StrikePriceSet', v: 1, marketId: market(), ...price(), publishedAt }),
    () => ({ type: 'EndPriceSet', v: 1, marketId: market(), ...price(), publishedAt }),
    () => ({ type: 'QuickMarketDecided', v: 1, marketId: market(), winningOutcome: below(2) as MarketOutcome }),
    () => ({ type: 'PriceMissed', v: 1, marketId: market(), boundary: below(2) === 0 ? 'start' : 'end' }),
    () => ({ type: 'MarketHalved', v: 1, marketId: market() }),
  ];
  const quick = (event: Event): Event => {
    if (event.type !== 'MarketOpened') return event;
    markets.unshift(event.marketId);
    if (event.marketKind !== 'quick') return event;
    return { ...event, quick: { asset: asset(), startTime: event.expiration - 900, endTime: event.expiration } };
  };

  return outcomes.map(({ at, events }) => {
    const known = events.map(quick);
    return { at, events: markets.length === 0 || below(3) > 0 ? known : [...known, told[below(2) === 0 ? 0 : below(told.length)]!()] };
  });
}
