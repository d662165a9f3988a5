/** Trades on their way to the chain: unsettled trades, recently failed trades, and the fills of one transaction. */
import type { Database } from './database.js';
import { answer, answering, bytes, hex, jsonObject, listing, type Answer, type Page, type Statement } from './statement.js';
import { settlementStatus, transactionHash } from './trades.js';

/** The most trades per answer; `next` leads to the next page. */
export const MAX_SETTLEMENTS = 1_000;

/** A failed trade is listed for 24 hours. */
const FAILED_WINDOW_MS = 86_400_000;

/** SQL: milliseconds since the Unix epoch as ISO 8601 in UTC. Uses intervals, which are exact; a division to seconds is not. */
const isoTime = (column: string) =>
  `to_char(timestamp 'epoch' + ${column} * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const parties = `${hex('buyer')} as "buyerAddress", ${hex('seller')} as "sellerAddress", size as "fillSize", price as "fillPrice"`;

/** SQL: a trade with its place in its current transaction. A transaction without a SettlementSubmitted has no places. */
const placed = 'trades left join submissions on submissions.tx_hash = trades.tx_hash and fill = number';

const pending = listing({
  name: 'pending_trades', projections: ['trades'], from: placed, answered: 'pendingTrades', key: 'number', order: 'asc',
  item: `${hex('market_id')} as "marketId", ${transactionHash('trades.tx_hash')} as "txHash", ${parties},
    ${isoTime('trades.at_ms')} as timestamp, coalesce(batch_size > 1, false) as "isBatch", coalesce(batch_index, 0) as "batchIndex",
    number as fill, outcome, ${settlementStatus('settlement')} as "settlementStatus"`,
  filter: 'settlement < 2 and number > coalesce($2::bigint, -1)', sort: 'number',
});

const failed = listing({
  name: 'failed_trades', projections: ['trades'], from: placed, answered: 'failedTrades', key: 'settled_position', order: 'desc',
  item: `${hex('market_id')} as "marketId", ${transactionHash('trades.tx_hash')} as "txHash", ${parties}, failure_reason as reason,
    ${isoTime('settled_at_ms')} as timestamp, coalesce(batch_index, 0) as "batchIndex", number as fill, outcome`,
  filter: `settlement = 3 and settled_at_ms > $3::bigint and settled_position < coalesce($2::bigint, ${Number.MAX_SAFE_INTEGER})`,
  sort: 'settled_at_ms desc, settled_position desc',
});

/**
 * The fills that SettlementSubmitted named for a transaction, and fills that the transaction settled without being named. A fill's
 * `transaction` is its current one, which is another transaction if this one was replaced. `first` is the fill at top level: the first
 * confirmed one, else the first one that is still on its way, and a failed one only when all fills failed.
 */
const ofTransaction: Statement = answering('settlement_of_transaction', ['trades'], `(
  with fills as materialized (
    select trades.*, trades.tx_hash as transaction, batch_index, batch_size, submissions.at_ms as submitted_at_ms
    from submissions join trades on number = fill where submissions.tx_hash = $1
    union all
    select trades.*, trades.tx_hash, row_number() over (order by number) - 1, count(*) over (), null
    from trades where tx_hash = $1 and not exists (select from submissions where submissions.tx_hash = $1 and fill = number)
  ), shown as (
    select *, row_number() over (order by batch_index, number) as place, ${settlementStatus('settlement')} as status,
      case when transaction <> $1 then ${hex('transaction')} end as replaced_by,
      ${isoTime('coalesce(settled_at_ms, submitted_at_ms, at_ms)')} as reached
    from fills
  ), first as (select * from shown order by case settlement when 2 then 0 when 3 then 2 else 1 end, place limit 1)
  select coalesce(${jsonObject(`
    select true as found, ${hex('$1::bytea')} as "txHash", status, ${hex('market_id')} as "marketId", ${parties}, reached as timestamp,
      batch_size > 1 as "isBatch", batch_index as "batchIndex", fill.number as fill, outcome, failure_reason as reason,
      replaced_by as "replacedBy", (select json_agg(row_to_json(entry)) from (
        select number as fill, ${hex('market_id')} as "marketId", ${parties}, outcome, status, failure_reason as reason,
          replaced_by as "replacedBy", reached as timestamp, batch_index as "batchIndex"
        from shown order by place) entry) as fills
    from first fill`)}, '{"found":false}'))`);

/**
 * `GET /pending-trades`: trades that the chain has not confirmed, oldest first. Until a trade's transaction is sent, `txHash` is empty and
 * `isBatch` is false. `timestamp` is when the trade matched. A full page has `next`, a fill number: send it as `after` for the next page.
 */
export function pendingTrades(db: Database, { limit = MAX_SETTLEMENTS, next }: Page): Promise<Answer> {
  return answer(db, pending, [limit, next ?? null]);
}

/**
 * `GET /failed-trades`: trades that failed later than now - 24 h, exact to the millisecond, latest failure first. `timestamp` is when the
 * trade failed. A full page has `next`, a log position: send it as `before` for the next page.
 */
export function failedTrades(db: Database, { limit = MAX_SETTLEMENTS, next, nowMs }: Page & { nowMs: number }): Promise<Answer> {
  return answer(db, failed, [limit, next ?? null, nowMs - FAILED_WINDOW_MS]);
}

/**
 * `GET /settlements/{txHash}`: the fills of a transaction, each with its own status. At top level is one of them: the first
 * confirmed one; without one, the first pending one; a failed one only when all failed. Gives `{"found":false}` when the hash is not of a
 * settlement. `replacedBy` is a fill's current transaction, if it is another one.
 */
export function settlementOfTransaction(db: Database, { txHash }: { txHash: string }): Promise<Answer> {
  return answer(db, ofTransaction, [bytes(txHash)]);
}
