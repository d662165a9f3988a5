/** What the prices role says of itself: of recording, of its sources and assets, and of each chain's quick markets. */
import * as field from '../../engine/records/answer-fields.js';
import { Type, type Static } from '../../engine/records/schema-types.js';
import type { StateTable } from '../../engine/state-table.js';

const schema = field.answer('PricesReadiness', {
  standby: Type.Boolean({ description: 'Another process records prices.' }),
  problem: field.orNull(Type.String(), 'Why no price can be recorded; null when it can.'),
  sources: Type.Array(field.answer('PriceSourceReadiness', {
    name: Type.String(), connected: Type.Boolean(),
    sinceHeardS: field.orNull(field.integer('Seconds.'), 'Seconds since its last price; null before the first.'),
    problem: field.orNull(Type.String(), 'What went wrong last; null when all has been well since prices came.'),
  }), { description: 'The best first.' }),
  assets: Type.Array(field.answer('PricedAssetReadiness', {
    asset: Type.String(), source: Type.String({ description: 'The source in use.' }),
    sincePriceS: field.orNull(field.integer('Seconds.'),
      'Seconds since the last price that counts was published; null before the first.'),
  })),
});

export type PricesState = Static<typeof schema>;

export const pricesState: StateTable<PricesState> = {
  shows: { part: 'prices', schema, description: 'State of the prices role.' },
  rows: [
    {
      name: 'exchange_prices_holds', help: '1 while this process records prices', value: ({ standby }) => standby ? 0 : 1,
      alerts: [{
        name: 'ExchangeNoPrices', severity: 'critical', when: { promql: 'max(exchange_prices_holds) == 0' }, forS: 60,
        means: 'No process records prices.', todo: 'Start a prices process.',
      }],
    },
    {
      name: 'exchange_prices_blocked', help: '1 when no price can be recorded',
      value: ({ problem }) => problem === null ? 0 : 1, cause: ({ problem }) => problem,
      alerts: [{
        name: 'ExchangePricesBlocked', severity: 'critical', when: { is: 1 }, forS: 60,
        means: 'No price can be recorded.', todo: 'prices[].problem of /health/ready says why.',
      }],
    },
  ],
};

export const priceSourceState: StateTable<PricesState['sources'][number]> = {
  labels: { source: ({ name }) => name },
  rows: [
    {
      name: 'exchange_price_source_connected', help: '1 while the price source is connected',
      value: ({ connected }) => connected ? 1 : 0,
      alerts: [{
        name: 'ExchangeSourceAway', severity: 'warning', forS: 900,
        when: { promql: 'max by (source) (exchange_price_source_connected) == 0' },
        means: 'The price source {source} is not connected.', todo: 'prices[].sources[].problem of /health/ready says why.',
      }],
    },
    {
      name: 'exchange_price_source_age_seconds', help: 'Seconds since the source\'s last price; -1 before the first',
      value: ({ sinceHeardS }) => sinceHeardS ?? -1,
    },
  ],
};

export const assetState: StateTable<PricesState['assets'][number]> = {
  labels: { asset: ({ asset }) => asset },
  rows: [{
    name: 'exchange_price_age_seconds',
    help: 'Seconds since the publication of the last price that counts; -1 before the first',
    value: ({ sincePriceS }) => sincePriceS ?? -1,
    alerts: [{
      name: 'ExchangePriceOld', severity: 'critical', forS: 0,
      when: { promql: 'min by (asset) (exchange_price_age_seconds) > 60' },
      means: 'The last price of {asset} that counts is {value} s old.',
      todo: 'Its quick markets cannot be decided. Look at the sources in /health/ready.',
    }],
  }],
};

export const passedOverState: StateTable<{ readonly reason: string; readonly count: number }> = {
  labels: { reason: ({ reason }) => reason },
  rows: [{
    name: 'exchange_price_observations_passed_over', help: 'Observations that were not recorded, by reason',
    value: ({ count }) => count,
  }],
};

const quickSchema = field.answer('QuickMarketsReadiness', {
  chainId: field.ChainId, address: field.Address,
  standby: Type.Boolean({ description: 'Another process creates and resolves the quick markets of this chain.' }),
  missingMarkets: field.integer('Number of quick markets that there should be and are not.'),
  decidedMarkets: field.integer('Number of decided quick markets that the chain has not resolved.'),
  unresolvableMarkets: field.integer('Number of quick markets whose price at the start or the end did not come in time.'),
  refused: field.integer('Number of creations and resolutions that the contracts refused last.'),
  problem: field.orNull(Type.String(), 'Why nothing can be looked at or sent; null when it can.'),
});

export type QuickMarketsState = Static<typeof quickSchema>;

export const quickMarketsState: StateTable<QuickMarketsState> = {
  labels: { chain: ({ chainId }) => chainId },
  shows: {
    part: 'quickMarkets', schema: quickSchema,
    description: 'State of the prices role, for each chain with a key for quick markets.',
  },
  rows: [
    {
      name: 'exchange_quick_markets_holds', help: '1 while this process creates and resolves quick markets',
      value: ({ standby }) => standby ? 0 : 1,
    },
    {
      name: 'exchange_quick_markets_missing', help: 'Number of quick markets that there should be and are not',
      value: ({ missingMarkets }) => missingMarkets, cause: ({ problem }) => problem,
      alerts: [{
        name: 'ExchangeQuickMarketsMissing', severity: 'warning', when: { above: 0 }, forS: 300,
        means: '{value} quick markets of chain {chain} are not made.',
        todo: 'quickMarkets[].problem of /health/ready; the lane of the key quick.',
      }],
    },
    {
      name: 'exchange_quick_markets_decided', help: 'Number of decided quick markets that the chain has not resolved',
      value: ({ decidedMarkets }) => decidedMarkets,
    },
    {
      name: 'exchange_quick_markets_unresolvable',
      help: 'Number of quick markets without a price that did not come in time',
      value: ({ unresolvableMarkets }) => unresolvableMarkets,
      alerts: [{
        name: 'ExchangeQuickMarketsUnresolvable', severity: 'critical', when: { above: 0 }, forS: 0, selfLogged: () => true,
        means: '{value} quick markets of chain {chain} have no price.',
        todo: 'No source tells it. A day after the end, halve(market) ends one: docs/prices.md, "Quick markets".',
      }],
    },
    {
      name: 'exchange_quick_markets_refused',
      help: 'Number of creations and resolutions that the contracts refused last', value: ({ refused }) => refused,
      alerts: [{
        name: 'ExchangeQuickMarketsRefused', severity: 'warning', when: { above: 0 }, forS: 300, selfLogged: () => true,
        means: 'The contracts of chain {chain} refuse {value} quick markets.',
        todo: 'The alert in the log has the reason of the contract.',
      }],
    },
    {
      name: 'exchange_quick_markets_blocked', help: '1 when nothing can be looked at or sent',
      value: ({ problem }) => problem === null ? 0 : 1, cause: ({ problem }) => problem,
      alerts: [{
        name: 'ExchangeQuickMarketsBlocked', severity: 'critical', when: { is: 1 }, forS: 60,
        means: 'Quick markets of chain {chain} cannot be made or resolved.',
        todo: 'quickMarkets[].problem of /health/ready says why.',
      }],
    },
  ],
};
