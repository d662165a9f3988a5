/** Any one order, open or closed: `GET /orders/{hash}` with what became of it, and the facts that the command side asks for. */
import type { CancelReason } from '../engine/records/events.js';
import type { Side } from '../engine/records/fields.js';
import type { Database } from './database.js';
import { answer, answering, bytes, hex, jsonObject, type Answer, type Statement } from './statement.js';
import { settlementStatus, transactionHash } from './trades.js';

/** The most fills that a history has: the latest. */
const MAX_FILLS = 1_000;

const status = (column: string) => `(array['open', 'filled', 'cancelled'])[${column} + 1]`;

/** One order's fills, whichever side of the match it was on: a union, so that each half has its index. */
const fills = `
  select number, price, size, position, at_ms, settlement, tx_hash, settled_position, settled_at_ms, failure_reason, role
  from (
    (select t.*, 'maker' as role from trades t where maker_number = o.number order by number desc limit ${MAX_FILLS})
    union all
    (select t.*, 'taker' as role from trades t where taker_number = o.number order by number desc limit ${MAX_FILLS})) fill
  order by number desc limit ${MAX_FILLS}`;

/** One command's events share a position: `rank` and `fill` put them in the order in which the engine gives them. */
const history = `
  select o.number as position, 0 as rank, 0 as fill, row_to_json(entry) as entry from (
    select o.number as position, 'accepted' as type, o.size, o.placed_at_ms / 1000 as timestamp) entry
  union all
  select f.settled_position, 1, f.number, row_to_json(entry) from fills f cross join lateral (
    select f.settled_position as position, 'fill_failed' as type, f.number as fill, f.size, f.failure_reason as reason,
      ${transactionHash('f.tx_hash')} as "txHash", f.settled_at_ms / 1000 as timestamp) entry
  where f.settlement = 3
  union all
  select f.position, 2, f.number, row_to_json(entry) from fills f cross join lateral (
    select f.position, 'fill' as type, f.number as fill, f.role, f.price, f.size, ${settlementStatus('f.settlement')} as "settlementStatus",
      ${transactionHash('f.tx_hash')} as "txHash", f.at_ms / 1000 as timestamp) entry
  union all
  select o.closed_position, 3, 0, row_to_json(entry) from (
    select o.closed_position as position, ${status('o.status')} as type, o.remaining as size, o.close_reason as reason,
      o.closed_at_ms / 1000 as timestamp) entry
  where o.status <> 0`;

const withHistory = answering('order', ['orders', 'trades'], jsonObject(`
  with o as (select * from orders where order_hash = $1)
  select ${hex('o.order_hash')} as "orderHash", ${hex('o.market_id')} as "marketId", ${hex('o.trader')} as trader, o.side, o.outcome, o.price,
    o.size, o.size - o.remaining as "filledSize", o.remaining as "remainingSize", o.nonce, o.expiration, ${status('o.status')} as status,
    case when o.status = 2 then o.close_reason end as "cancelReason", o.placed_at_ms / 1000 as timestamp, history.history
  from o cross join lateral (
    with fills as (${fills})
    select json_agg(entry order by position, rank, fill) as history from (${history}) entries) history`));

/**
 * An order with all its fields and `history`: `accepted`, `fill`, `fill_failed` and, once it is closed, `filled` or `cancelled`,
 * each with the log position that proves it; at most the latest 1,000 fills. `timestamp` in Unix seconds. Throws
 * RequestError `unknown_order`.
 */
export function orderWithHistory(db: Database, { orderHash }: { orderHash: string }): Promise<Answer> {
  return answer(db, withHistory, [bytes(orderHash)], 'unknown_order');
}

/** What the read model knows of an order; sizes in units of 1e-6. */
export interface OrderFacts {
  readonly orderNumber: number;
  readonly orderHash: string;
  readonly marketId: string;
  readonly trader: string;
  readonly side: Side;
  readonly size: bigint;
  readonly remaining: bigint;
  readonly status: 'open' | 'filled' | 'cancelled';
  /** Why it is closed; null while it is open or when it was filled. */
  readonly closeReason: CancelReason | null;
  /** The log position of the command that closed it; null while it is open. */
  readonly closedPosition: number | null;
}

/** int8 and numeric columns come as decimal strings. */
type OrderRow = Omit<OrderFacts, 'orderNumber' | 'size' | 'remaining' | 'closedPosition'>
  & Record<'orderNumber' | 'size' | 'remaining', string> & { readonly closedPosition: string | null };

const facts: Statement = {
  name: 'order_facts',
  text: `
    select number as "orderNumber", ${hex('order_hash')} as "orderHash", ${hex('market_id')} as "marketId", ${hex('trader')} as trader, side,
      size, remaining, ${status('status')} as status, close_reason as "closeReason", closed_position as "closedPosition"
    from orders where order_hash = $1`,
};

/** The order with this hash, open or closed; undefined where the read model has none (yet). */
export async function findOrder(db: Database, orderHash: string): Promise<OrderFacts | undefined> {
  const [row] = await db.rows<OrderRow>(facts, [bytes(orderHash)]);
  if (row === undefined) return undefined;
  return {
    ...row, orderNumber: Number(row.orderNumber), size: BigInt(row.size), remaining: BigInt(row.remaining),
    closedPosition: row.closedPosition === null ? null : Number(row.closedPosition),
  };
}
