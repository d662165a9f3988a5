/** The quick markets of an asset: the one that runs now, and those that have begun. */
import { SELL, YES } from '../engine/records/fields.js';
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { defineEndpoint } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import * as parameter from '../service/api/parameters.js';
import { asset, AssetPrice, requireAsset, type Assets } from './asset.js';
import type { Database } from './database.js';
import { isPaged, keyAfter, NextCursor, page, pageParameters, type PageRequest } from './paging.js';
import { read, type Reads, type SharedReads } from './reading.js';
import { answer, answering, hex, jsonArray, jsonObject, positionOf, type Answer, type Statement } from './statement.js';

/** How many quick markets `GET /quick-markets/{asset}/history` lists. */
const QUICK_MARKET_ENTRIES = 100;

/** SQL: a price was missed and has not come since, so that the market cannot be decided. */
const PRICE_MISSED = '(start_missed and strike_price is null or end_missed and end_price is null)';

/**
 * The fields of a quick market. Its outcome follows from its prices; the chain's word counts for a market whose prices are not in the history.
 * A market is resolved once its outcome is known, or once the chain has paid it half to half.
 */
const fields = `
  number as id, ${hex('market_id')} as "marketId", asset, trim_scale(round((end_time - start_time) / 60.0, 4)) as "intervalMinutes",
  strike_price as "startPrice", start_time as "startTime", end_time as "endTime", outcome is not null or paid is not null as resolved,
  coalesce(strike_source, '') as "priceSource", created_at_ms / 1000 as "createdAt", chain_id as "chainId",
  ${hex('contract_address')} as "contractAddress", ${PRICE_MISSED} as "priceMissed"`;

const ended = `${fields}, end_price as "endPrice", coalesce(outcome, case when paid < 2 then paid end) as outcome,
  (array['none', 'yes', 'no', 'half'])[coalesce(paid, -1) + 2] as payment`;

const onChain = '($2::bigint is null or chain_id = $2)';

const active = answering('active_quick_market', ['quick_markets', 'orders'], jsonObject(`
  with running as materialized (
    select * from quick_markets
    where asset = $1 and ${onChain} and start_time <= $3::bigint and end_time > $3::bigint
    order by chain_id, start_time desc, number limit 1)
  select exists (select from running) as active, $1::text as asset, ${jsonObject(`select ${fields} from running`)}::json as "quickMarket",
    coalesce((
      select price from levels where market_id = (select market_id from running) and outcome = ${YES} and side = ${SELL} order by price limit 1), 0
    ) as "bestAskPrice"`));

/** $4 and $5 are the end and the number of the market at the end of the page before, $6 the limit. */
const history: Statement = {
  name: 'quick_market_history',
  text: `
    with page as materialized (
      select * from quick_markets
      where asset = $1 and ${onChain} and start_time <= $3::bigint
        and (end_time, number) < (coalesce($4::bigint, ${Number.MAX_SAFE_INTEGER}), coalesce($5::integer, 0))
      order by end_time desc, number desc limit $6::integer
    )
    select ${jsonObject(`
      select $1::text as asset, ${jsonArray(`select ${ended} from page order by end_time desc, number desc`)} as history`)} as body,
      (select case when count(*) = $6::integer
        then (array_agg(json_build_array(end_time, number)::text order by end_time, number))[1] end from page) as last,
      ${positionOf(['quick_markets'])} as position`,
};

export interface QuickMarketsOf {
  readonly asset: string;
  readonly chainId?: number | undefined;
  readonly nowS: number;
}

/**
 * `GET /quick-markets/{asset}`: the market with startTime <= now < endTime; on several chains, that of the lowest chain id, unless one is asked
 * for. `startPrice` is null and `priceSource` is empty until the strike is set, which is some seconds after the start.
 */
export function activeQuickMarket(db: Database, { asset, chainId, nowS }: QuickMarketsOf): Promise<Answer> {
  return answer(db, active, [asset, chainId ?? null, nowS]);
}

/** `GET /quick-markets/{asset}/history`: the 100 latest quick markets that have begun, latest end first, or page by page. */
export function quickMarketHistory(db: Database, { asset, chainId, nowS, ...asked }: QuickMarketsOf & PageRequest): Promise<Answer> {
  const { limit = QUICK_MARKET_ENTRIES, cursor } = asked;
  const [end = null, number = null] = keyAfter('quick_markets', ['number', 'number'], cursor) ?? [];
  const list = isPaged(asked) ? 'quick_markets' : undefined;
  return page(db, { list, statement: history, values: [asset, chainId ?? null, nowS, end, number, limit] });
}

const reading = { ...read, tag: 'Prices', errors: ['unknown_asset', 'unavailable'] } as const;

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
}, (ports: Reads & Assets) => (params) => {
  requireAsset(params.asset, ports);
  return activeQuickMarket(ports.db, { ...params, nowS: Math.floor(ports.now() / 1_000) });
});

export const listQuickMarkets = defineEndpoint({
  ...reading,
  id: 'listQuickMarkets', path: '/api/v1/quick-markets/{asset}/history', summary: 'The 100 latest quick markets of an asset',
  description: 'Those that have begun, the one that runs now among them. Newest first. With `limit` or `cursor`: page by page.',
  parameters: { asset, chainId: parameter.optionalChainId, ...pageParameters({ byDefault: QUICK_MARKET_ENTRIES, max: 500 }) },
  shownLimit: { name: 'maxQuickMarkets', value: QUICK_MARKET_ENTRIES, description: 'Most quick markets in the history of an asset.' },
  answer: {
    description: 'The quick markets.',
    schema: field.answer('QuickMarketHistory', { asset: field.Asset, history: Type.Array(PastQuickMarket), nextCursor: NextCursor }),
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
}, ({ db, share, now, ...assets }: SharedReads & Assets) => {
  const shared = share('quick_markets', ['quick_markets'], (asked: QuickMarketsOf & PageRequest) => quickMarketHistory(db, asked));
  return (params) => {
    requireAsset(params.asset, assets);
    return shared({ ...params, nowS: Math.floor(now() / 1_000) });
  };
});
