/** The quick markets of an asset: the one that runs now, and those that have begun. */
import { SELL, YES } from '../engine/records/fields.js';
import type { Database } from './database.js';
import { answer, answering, hex, jsonArray, jsonObject, type Answer } from './statement.js';

/** How many quick markets `GET /quick-markets/{asset}/history` lists. */
export const QUICK_MARKET_ENTRIES = 100;

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

const history = answering('quick_market_history', ['quick_markets'], jsonObject(`
  select $1::text as asset, ${jsonArray(`
    select ${ended} from quick_markets where asset = $1 and ${onChain} and start_time <= $3::bigint
    order by end_time desc, number desc limit ${QUICK_MARKET_ENTRIES}`)} as history`));

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

/** `GET /quick-markets/{asset}/history`: the 100 latest quick markets that have begun, latest end first. */
export function quickMarketHistory(db: Database, { asset, chainId, nowS }: QuickMarketsOf): Promise<Answer> {
  return answer(db, history, [asset, chainId ?? null, nowS]);
}
