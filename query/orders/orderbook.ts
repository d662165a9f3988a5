/** `GET /orderbook/{marketId}`: the price levels of one outcome's book, or of both. */
import { BUY, NO, SELL, YES, type MarketOutcome, type Side } from '../../engine/records/fields.js';
import type { Database } from '../database.js';
import { answer, answering, bytes, hex, jsonArray, jsonObject, type Answer } from '../statement.js';

/** SQL of the answer, from the tables `levels` and `books`. $1 is the market's id, $2 the outcome. */
export const ONE_BOOK = jsonObject(`
  select ${hex('$1::bytea')} as "marketId", ${levels(BUY, '= $2::smallint')} as bids, ${levels(SELL, '= $2::smallint')} as asks,
    ${lastUpdate()} as "lastUpdate"`);

/** The same for both outcomes; $1 is the market's id. */
export const BOTH_BOOKS = jsonObject(`
  select ${hex('$1::bytea')} as "marketId", ${summedLevels(BUY)} as bids, ${summedLevels(SELL)} as asks, ${lastUpdate()} as "lastUpdate",
    ${jsonObject(`select ${levels(BUY, `= ${YES}`)} as bids, ${levels(SELL, `= ${YES}`)} as asks`)}::json as yes,
    ${jsonObject(`select ${levels(BUY, `= ${NO}`)} as bids, ${levels(SELL, `= ${NO}`)} as asks`)}::json as no`);

const oneBook = answering('orderbook_of_outcome', ['orders'], ONE_BOOK);
const bothBooks = answering('orderbook', ['orders'], BOTH_BOOKS);

/**
 * Every level of a book, best first. `lastUpdate` is in Unix seconds, 0 if there was never an order. Without `outcome`, the sizes of
 * both market outcomes are summed per price, and `yes` and `no` have the two books. An unknown market has an empty book.
 */
export function orderbook(
  db: Database, { marketId, outcome }: { marketId: string; outcome?: MarketOutcome | undefined },
): Promise<Answer> {
  return outcome === undefined
    ? answer(db, bothBooks, [bytes(marketId)])
    : answer(db, oneBook, [bytes(marketId), outcome]);
}

function levels(side: Side, outcome: string): string {
  return jsonArray(`
    select price, size from levels where market_id = $1 and outcome ${outcome} and side = ${side}
    order by price ${side === BUY ? 'desc' : 'asc'}`);
}

function summedLevels(side: Side): string {
  return jsonArray(`
    select price, sum(size) as size from levels where market_id = $1 and side = ${side}
    group by price order by price ${side === BUY ? 'desc' : 'asc'}`);
}

function lastUpdate(): string {
  return 'coalesce((select updated_at_ms / 1000 from books where market_id = $1), 0)';
}
