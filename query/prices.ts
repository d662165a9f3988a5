/**
 * The recorded prices of an asset: the newest one, those of 20 minutes, and those after a log position for the stream.
 */
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { defineEndpoint } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import { asset, AssetPrice, PriceUsd, requireAsset, type Assets } from './asset.js';
import type { Database } from './database.js';
import { read, type Reads } from './reading.js';
import { answer, answering, jsonArray, jsonObject, type Answer, type RowSource } from './statement.js';

/** SQL: a price in US dollars. Exact: `price` is in units of 1e-8. */
const IN_USD = 'trim_scale(price * 0.00000001)';

const RECORD = `price, ${IN_USD} as "priceUSD", published_at_ms / 1000 as timestamp, coalesce($2::json ->> source, source) as source`;

const newest = answering('newest_price', ['prices'], jsonObject(`
  select ${RECORD} from prices where asset = $1 order by published_at_ms desc, position desc limit 1`));

/** One price per second. A second one is there when a boundary needed it: it is the one that counts. */
const history = answering('price_history', ['prices'], jsonObject(`
  select $1::text as asset, ${jsonArray(`
    select distinct on (timestamp) ${RECORD} from prices where asset = $1 order by timestamp, position desc`)} as history`));

const after = answering('prices_after', ['prices'], `${jsonArray(`
  select position, asset, published_at_ms as "publishedAtMs", ${jsonObject(`
    select asset, price, ${IN_USD} as "priceUSD", published_at_ms as timestamp, source`)} as data
  from prices where position > $1::bigint order by position`)}::text`);

/** The addresses of the price sources, by their names. */
export type SourceUrls = Readonly<Record<string, string>>;

export interface PricesOf {
  readonly asset: string;
  readonly sourceUrls: SourceUrls;
}

/**
 * `GET /prices/{asset}`: the price that was published last, however old it is. Throws RequestError `unavailable` before
 * the first price.
 */
export function newestPrice(db: Database, { asset, sourceUrls }: PricesOf): Promise<Answer> {
  return answer(db, newest, [asset, JSON.stringify(sourceUrls)], 'unavailable', () => `no price of ${asset} has been recorded yet`);
}

/** `GET /prices/{asset}/history`: the prices of the 20 minutes before the newest one, oldest first. */
export function priceHistory(db: Database, { asset, sourceUrls }: PricesOf): Promise<Answer> {
  return answer(db, history, [asset, JSON.stringify(sourceUrls)]);
}

/** A price as the stream sends it. */
export interface StreamedPrice {
  /** The log position of its RecordPrice. */
  readonly position: number;
  readonly asset: string;
  readonly publishedAtMs: number;
  /** The JSON text of the event's fields. */
  readonly data: string;
}

/**
 * The kept prices of all assets after a log position, in the order of the log, and the log position up to which these
 * are all.
 */
export async function pricesAfter(
  db: RowSource, position: number,
): Promise<{ readonly prices: readonly StreamedPrice[]; readonly position: number }> {
  const { body, position: reached } = await answer(db, after, [position]);
  return { prices: JSON.parse(body) as StreamedPrice[], position: reached };
}

type PricePorts = Reads & Assets & { readonly sourceUrls: SourceUrls };

const reading = { ...read, tag: 'Prices', errors: ['unknown_asset', 'unavailable'] } as const;

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
}, (ports: PricePorts) => (params) => {
  requireAsset(params.asset, ports);
  return newestPrice(ports.db, { ...params, sourceUrls: ports.sourceUrls });
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
}, (ports: PricePorts) => (params) => {
  requireAsset(params.asset, ports);
  return priceHistory(ports.db, { ...params, sourceUrls: ports.sourceUrls });
});
