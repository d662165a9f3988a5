/** One order, open or closed: `GET /orders/{hash}` with the order's history, and the facts that the command side needs. */
import type { CancelReason } from '../../engine/records/events.js';
import type { Side } from '../../engine/records/fields.js';
import { answer, answering, bytes, hex, jsonObject, type Answer, type RowSource, type Statement } from '../statement.js';
import { settlementStatus, transactionHash } from '../trades.js';

/** The most fills in a history; the latest fills are shown. */
export const MAX_FILLS = 1_000;

const status = (column: string) => `(array['open', 'filled', 'cancelled'])[${column} + 1]`;

/** One order's fills, as maker or as taker. A union, so that each half uses its own index. */
const fills = `
  select number, price, size, position, at_ms, settlement, tx_hash, settled_position, settled_at_ms, failure_reason, role
  from (
    (select t.*, 'maker' as role from trades t where maker_number = o.number order by number desc limit ${MAX_FILLS})
    union all
    (select t.*, 'taker' as role from trades t where taker_number = o.number order by number desc limit ${MAX_FILLS})) fill
  order by number desc limit ${MAX_FILLS}`;

/** The entries of one command have the same position: `rank` and `fill` sort them in the engine's order. */
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
 * An order with all its fields and its `history`: `accepted`, `fill`, `fill_failed` and, once the order is closed, `filled` or
 * `cancelled`. Each entry has its log position. At most the latest 1,000 fills are shown. `timestamp` is in Unix seconds. Throws
 * RequestError `unknown_order`.
 */
export function orderWithHistory(db: RowSource, { orderHash }: { orderHash: string }): Promise<Answer> {
  return answer(db, withHistory, [bytes(orderHash)], 'unknown_order', (position) => `the read models are at log position ${position}; `
    + 'to see an order that was just placed, send the X-Log-Position of its answer as X-Min-Log-Position');
}

/** An order in the read model; sizes in units of 1e-6. */
export interface OrderFacts {
  readonly orderNumber: number;
  readonly orderHash: string;
  readonly marketId: string;
  readonly trader: string;
  readonly side: Side;
  readonly size: bigint;
  readonly remaining: bigint;
  readonly status: 'open' | 'filled' | 'cancelled';
  /** Why the order was cancelled; null for an open or filled order. */
  readonly closeReason: CancelReason | null;
  /** The log position of the command that closed the order; null for an open order. */
  readonly closedPosition: number | null;
}

/** A row as Postgres returns it: int8 and numeric columns are decimal strings. */
type OrderRow = Omit<OrderFacts, 'orderNumber' | 'size' | 'remaining' | 'closedPosition'>
  & Record<'orderNumber' | 'size' | 'remaining', string> & { readonly closedPosition: string | null };

const facts: Statement = {
  name: 'order_facts',
  text: `
    select number as "orderNumber", ${hex('order_hash')} as "orderHash", ${hex('market_id')} as "marketId", ${hex('trader')} as trader, side,
      size, remaining, ${status('status')} as status, close_reason as "closeReason", closed_position as "closedPosition"
    from orders where order_hash = $1`,
};

/** The order with this hash, open or closed; undefined when the read model does not have it (yet). */
export async function findOrder(db: RowSource, orderHash: string): Promise<OrderFacts | undefined> {
  const [row] = await db.rows<OrderRow>(facts, [bytes(orderHash)]);
  if (row === undefined) return undefined;
  return {
    ...row, orderNumber: Number(row.orderNumber), size: BigInt(row.size), remaining: BigInt(row.remaining),
    closedPosition: row.closedPosition === null ? null : Number(row.closedPosition),
  };
}
