/** The endpoints about prices: of assets, as records and as a stream, and the quick markets that prices decide. */
import { Type } from '../../../engine/records/schema-types.js';
import { named } from '../../../engine/records/named-schema.js';
import * as kind from '../../../query/parameters.js';
import { QUICK_MARKET_ENTRIES } from '../../../query/quick-markets.js';
import { problems } from '../../http/problems.js';
import * as field from '../answer-fields.js';
import { anybody } from '../authority.js';
import { defineEndpoint } from '../endpoint.js';
import * as example from '../examples.js';
import { inHeader, inPath, inQuery } from '../parameter.js';
import * as parameter from '../parameters.js';

const reading = {
  role: 'query', method: 'GET', tag: 'Prices', authority: anybody, errorShape: problems, limit: 'reads', consistent: true,
  errors: ['unknown_asset', 'unavailable'],
} as const;

const asset = inPath('asset', kind.asset, { description: 'Asset, such as BTC or ETH, in any case.', example: 'BTC' });
const AssetPrice = named('AssetPrice', field.integer('Price of the asset in units of 1e-8 US dollars. An exact integer, which may be beyond 2^53.', 1));
const PriceUsd = Type.Number({ exclusiveMinimum: 0, description: 'The same in US dollars.' });

const quickMarketFields = {
  id: field.integer('Number of the quick market, in the order of opening.'), marketId: field.Bytes32, asset: field.Asset,
  intervalMinutes: Type.Number({ exclusiveMinimum: 0, description: 'From start to end; not whole only for test intervals.' }),
  startPrice: field.orNull(AssetPrice, 'The strike: the asset\'s price at the start. null until it is set, some seconds after the start.'),
  startTime: field.Seconds, endTime: field.Seconds,
  resolved: Type.Boolean({ description: 'Whether the outcome is known, or the chain has paid half to half.' }),
  priceSource: Type.String({ description: 'Name of the source of `startPrice`; empty until that is set.' }),
  createdAt: field.Seconds, chainId: field.ChainId, contractAddress: field.Address,
  priceMissed: Type.Boolean({
    description: 'True when no source had a price in the 15 seconds that count. Such a market is not decided by another price; if none is found, the chain pays it half to half.',
  }),
};
const QuickMarket = field.answer('QuickMarket', quickMarketFields);
const PastQuickMarket = field.answer('PastQuickMarket', {
  ...quickMarketFields,
  endPrice: field.orNull(AssetPrice, 'The asset\'s price at the end; null until it is set.'),
  outcome: field.orNull(field.Outcome, '0 = YES: the end price is not below the start price; 1 = NO. null until it is known, and for a market paid half to half.'),
  payment: field.oneOf(['none', 'yes', 'no', 'half'], 'Whose shares the chain redeems: nobody\'s before the market is resolved there; `half`: each share for one half.'),
});

const quickMarket = {
  id: 7, marketId: example.marketId, asset: 'BTC', intervalMinutes: 15, startPrice: 6_140_993_501_000, startTime: example.placedAt - 200,
  endTime: example.placedAt + 700, resolved: false, priceSource: 'pyth', createdAt: example.placedAt - 800, chainId: 31_337,
  contractAddress: example.contractAddress, priceMissed: false,
};
const past = { ...quickMarket, startTime: example.placedAt - 1_100, endTime: example.placedAt - 200 };

export const getQuickMarket = defineEndpoint({
  ...reading,
  id: 'getQuickMarket', path: '/api/v1/quick-markets/{asset}', summary: 'The quick market of an asset that runs now',
  description: 'A quick market asks whether the price of an asset will not be lower at its end than at its start. With several chains and no chain_id: '
    + 'the one on the chain with the lowest id.',
  parameters: { asset, chainId: parameter.optionalChainId },
  answer: {
    description: 'The quick market, or that none runs.',
    schema: field.answer('ActiveQuickMarket', {
      active: Type.Boolean(), asset: field.Asset, quickMarket: field.orNull(QuickMarket, 'null when none runs.'),
      bestAskPrice: field.PriceOrNone,
    }),
    examples: {
      active: { active: true, asset: 'BTC', quickMarket, bestAskPrice: 520_000 },
      none: { active: false, asset: 'BTC', quickMarket: null, bestAskPrice: 0 },
    },
  },
});

export const listQuickMarkets = defineEndpoint({
  ...reading,
  id: 'listQuickMarkets', path: '/api/v1/quick-markets/{asset}/history', summary: 'The 100 latest quick markets of an asset',
  description: 'Those that have begun, the one that runs now among them. Newest first.',
  parameters: { asset, chainId: parameter.optionalChainId },
  answer: {
    description: 'The quick markets.',
    schema: field.answer('QuickMarketHistory', { asset: field.Asset, history: Type.Array(PastQuickMarket, { maxItems: QUICK_MARKET_ENTRIES }) }),
    examples: {
      'one running, one paid, one without a price': {
        asset: 'BTC',
        history: [
          { ...quickMarket, endPrice: null, outcome: null, payment: 'none' },
          { ...past, id: 5, resolved: true, endPrice: 6_140_993_501_001, outcome: 0, payment: 'yes' },
          { ...past, id: 3, startPrice: null, priceSource: '', priceMissed: true, endPrice: null, outcome: null, payment: 'none' },
        ],
      },
    },
  },
});

const PriceRecord = field.answer('PriceRecord', {
  price: AssetPrice, priceUSD: PriceUsd, timestamp: field.integer('When the source published the price, Unix seconds.'),
  source: Type.String({ description: 'URL of the provider; `simulated:` for simulated prices.' }),
});
const priceRecord = { price: 6_140_993_501_000, priceUSD: 61_409.93501, timestamp: example.placedAt, source: 'https://hermes.pyth.network' };

export const getPrice = defineEndpoint({
  ...reading,
  id: 'getPrice', path: '/api/v1/prices/{asset}', summary: 'The newest price of an asset',
  description: 'The price that was published last. Compare its timestamp with your clock: when all sources are away, it is an old one.',
  parameters: { asset },
  answer: { description: 'The price.', schema: PriceRecord, examples: { price: priceRecord } },
});

export const listPrices = defineEndpoint({
  ...reading,
  id: 'listPrices', path: '/api/v1/prices/{asset}/history', summary: 'Twenty minutes of prices of an asset',
  description: 'The 20 minutes before the newest price, oldest first; at most about one price per second.',
  parameters: { asset },
  answer: {
    description: 'The prices.',
    schema: field.answer('PriceHistory', { asset: field.Asset, history: Type.Array(PriceRecord) }),
    examples: { 'one price': { asset: 'BTC', history: [priceRecord] } },
  },
});

export const streamPrices = defineEndpoint({
  ...reading,
  id: 'streamPrices', path: '/api/v1/prices/{asset}/stream', summary: 'The prices of an asset as they come',
  description: 'Server-sent events, for `EventSource`. The newest price is sent at once, then each new one. An event is unnamed; its `id` is a log position, and its '
    + '`data` is JSON as described. Comments keep a quiet stream open. After a lost connection, `EventSource` sends the last id by itself and gets what it missed, of '
    + 'about 20 minutes, and nothing twice. It gives up when an answer is an error: then make a new one, with `last_event_id`. A client that does not read is cut off.',
  parameters: {
    asset,
    after: inHeader('Last-Event-ID', kind.optional(kind.position), { description: 'Send the prices after this event, as far as they are kept.', example: 4_217 }),
    afterFirst: inQuery('last_event_id', kind.optional(kind.position), {
      description: 'The same for a new `EventSource`, which cannot send the header. The header, which it sends when it connects again, comes first.', example: 4_217,
    }),
  },
  consistent: false,
  errors: [...reading.errors, 'too_many_streams', 'overloaded'],
  answer: {
    description: 'The stream. The schema is that of the `data` of an event.',
    contentType: 'text/event-stream', stream: true,
    schema: field.answer('PriceEvent', {
      asset: field.Asset, price: AssetPrice, priceUSD: PriceUsd, timestamp: field.integer('When the source published the price, Unix milliseconds.'),
      source: Type.String({ description: 'Name of the source: pyth, coinbase, binance or simulated.' }),
    }),
    examples: {
      price: { asset: 'BTC', price: 6_140_993_501_000, priceUSD: 61_409.93501, timestamp: example.placedAt * 1_000, source: 'pyth' },
    },
  },
});
