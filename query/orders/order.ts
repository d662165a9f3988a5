/**
 * One order, open or closed: `GET /orders/{hash}` with the order's history, and the facts that the command side needs.
 */
import type { CommandOutcome } from '../../engine/records/codec.js';
import { RequestError } from '../../engine/records/errors.js';
import type { CancelReason, OrderCancelled } from '../../engine/records/events.js';
import type { Side } from '../../engine/records/fields.js';
import { Type } from '../../engine/records/schema-types.js';
import * as field from '../../engine/records/answer-fields.js';
import { defineEndpoint, type Context } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { inPath } from '../../service/api/parameter.js';
import * as parameter from '../../service/api/parameters.js';
import * as kind from '../../service/api/request-fields.js';
import type { Database } from '../database.js';
import { HORIZON } from '../kept-history.js';
import { read } from '../reading.js';
import { answer, answering, bytes, hex, jsonObject, type Answer, type RowSource, type Statement } from '../statement.js';
import { settlementStatus, transactionHash } from '../trades.js';
import { unlessLogAway } from '../unless-log-away.js';

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
    select o.number as position, 'accepted' as type,
      o.size + coalesce((select sum(reduced) from reductions where order_number = o.number), 0) as size, o.placed_at_ms / 1000 as timestamp) entry
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
  select r.position, 2, 0, row_to_json(entry) from reductions r cross join lateral (
    select r.position, 'reduced' as type, r.size, r.at_ms / 1000 as timestamp) entry
  where r.order_number = o.number
  union all
  select o.closed_position, 3, 0, row_to_json(entry) from (
    select o.closed_position as position, ${status('o.status')} as type, o.remaining as size, o.close_reason as reason,
      o.closed_at_ms / 1000 as timestamp) entry
  where o.status <> 0`;

/** SQL: five bytes of a hash as a number, as in the index `orders_by_hash`. */
const start = (hash: string) => `('x' || encode(substr(${hash}, 1, 5), 'hex'))::bit(40)::bigint`;

/** SQL: the order with the hash $1. The index has a bucket for each 2^20 positions; the newest one is looked into first. */
const byHash = `
  select found.* from (select max(number) >> 20 as newest from orders) buckets cross join lateral generate_series(newest, 0, -1) bucket
    cross join lateral (
      select * from orders
      where number >> 20 << 40 | ${start('order_hash')} = bucket << 40 | ${start('$1::bytea')} and order_hash = $1::bytea limit 1) found
  limit 1`;

const ORDER = jsonObject(`
  with o as (${byHash})
  select ${hex('o.order_hash')} as "orderHash", ${hex('o.market_id')} as "marketId", ${hex('o.trader')} as trader, o.side, o.outcome, o.price,
    o.size, o.size - o.remaining as "filledSize", o.remaining as "remainingSize", o.nonce, o.expiration, ${status('o.status')} as status,
    case when o.status = 2 then o.close_reason end as "cancelReason", o.placed_at_ms / 1000 as timestamp, history.history
  from o cross join lateral (
    with fills as (${fills})
    select json_agg(entry order by position, rank, fill) as history from (${history}) entries) history`);

/** An order that is older than the horizon says so: its fills of before are not in its history. */
const withHistory = answering('order', ['orders', 'trades'], `(
  select coalesce(left(whole, -1) || ',"historyFrom":' || (
    select ${HORIZON} from (${byHash}) old where number < ${HORIZON}) || '}', whole) from (select ${ORDER} as whole) answer)`);

/**
 * An order with all its fields and its `history`: `accepted`, `fill`, `fill_failed`, `reduced` and, once the order is
 * closed, `filled` or `cancelled`. Each entry has its log position. At most the latest 1,000 fills are shown, and of an order from before
 * `historyFrom` those that were settled before it may be missing.
 * `timestamp` is in Unix seconds. Throws RequestError `unknown_order`.
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
    from (${byHash}) found`,
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

export interface PlacedOrder extends Answer {
  readonly status: 'open' | 'filled' | 'cancelled';
  /** In 1e-6 shares, decimal. */
  readonly remaining: string;
}

/**
 * The answer that `orderWithHistory` gives when the read model has reached the order's PlaceOrder and no later command;
 * `outcome` is the outcome of that command. Throws Error when it is not the outcome of an order's acceptance.
 */
export function orderAsPlaced(outcome: CommandOutcome): PlacedOrder {
  const [order, ...events] = outcome.events;
  if (order?.type !== 'OrderAccepted') throw new Error(`the outcome of an order began with ${order?.type ?? 'nothing'}`);
  const { orderNumber: position, size } = order;
  const timestamp = Math.floor(outcome.at / 1_000);
  let remaining = BigInt(size);
  const fills: string[] = [];
  let cancelled: OrderCancelled | undefined;
  for (const event of events) {
    if (event.type === 'FillMatched') {
      remaining -= BigInt(event.size);
      fills.push(`{"position":${position},"type":"fill","fill":${event.fill},"role":"taker","price":${event.price},"size":${event.size},`
        + `"settlementStatus":"matched","txHash":"","timestamp":${timestamp}}`);
    }
    if (event.type === 'OrderCancelled' && event.orderNumber === position) cancelled = event;
  }
  const status = cancelled !== undefined ? 'cancelled' : remaining === 0n ? 'filled' : 'open';
  const reason = cancelled === undefined ? 'null' : `"${cancelled.reason}"`;
  const history = [
    `{"position":${position},"type":"accepted","size":${size},"timestamp":${timestamp}}`, ...fills.slice(-MAX_FILLS),
    ...status === 'open' ? [] : [`{"position":${position},"type":"${status}","size":${remaining},"reason":${reason},"timestamp":${timestamp}}`],
  ];
  const body = `{"orderHash":"${order.orderHash}","marketId":"${order.marketId}","trader":"${order.trader}","side":${order.side},`
    + `"outcome":${order.outcome},"price":${order.price},"size":${size},"filledSize":${BigInt(size) - remaining},"remainingSize":${remaining},`
    + `"nonce":${order.nonce},"expiration":${order.expiration},"status":"${status}","cancelReason":${reason},"timestamp":${timestamp},`
    + `"history":[${history.join(', ')}]}`;
  return { body, position, status, remaining: String(remaining) };
}

/** What a replica knows of orders that the read models may not have yet. */
interface Replica {
  readonly view: {
    order(orderHash: string): Pick<PlacedOrder, 'status'> & { readonly orderNumber: number; readonly remaining: string; readonly asOf: number } | undefined;
  };
  /** The outcome of the command at a position. Throws LogUnavailable. */
  outcomeOf(position: number): Promise<CommandOutcome>;
}

export type OrderLookup = (params: { readonly orderHash: string }, context: Context) => Promise<Answer>;

/**
 * Looks up an order. One that is not in the read models is answered as its own command left it. When later commands
 * have changed it, the answer waits until the read models have them.
 */
export function createOrderLookup(
  { view, outcomeOf, db }: Replica & { readonly db: Pick<Database, 'rows' | 'waitForPosition'> },
): OrderLookup {
  return async ({ orderHash }, { signal }) => {
    try {
      return await orderWithHistory(db, { orderHash });
    } catch (error) {
      const known = view.order(orderHash);
      if (known === undefined || !(error instanceof RequestError) || error.code !== 'unknown_order') throw error;
      const placed = orderAsPlaced(await unlessLogAway(() => outcomeOf(known.orderNumber)));
      if (placed.status === known.status && placed.remaining === known.remaining) {
        return { body: placed.body, position: placed.position };
      }
      await db.waitForPosition(known.asOf, { signal });
      return orderWithHistory(db, { orderHash });
    }
  };
}

export const openOrder = {
  orderHash: field.Bytes32, marketId: field.Bytes32, side: field.Side, price: field.Price, size: field.amount('Size of the order: as signed, or as reduced since'),
  remainingSize: field.amount('Unfilled part'), timestamp: field.Seconds,
};

const HistoryEntry = field.answer('OrderHistoryEntry', {
  position: field.LogPosition,
  type: field.oneOf(['accepted', 'fill', 'fill_failed', 'reduced', 'filled', 'cancelled'], 'What happened to the order.'),
  size: field.amount('Shares of this entry; of a reduction, the order\'s size from then on'),
  timestamp: field.orNull(field.Seconds, 'Unix seconds; null if the read model does not keep the time.'),
  fill: Type.Optional(field.integer('Number of the fill.')),
  role: Type.Optional(field.oneOf(['maker', 'taker'], 'Whether the order was the maker or the taker of the fill.')),
  price: Type.Optional(field.Price),
  settlementStatus: Type.Optional(field.SettlementStatus),
  txHash: Type.Optional(field.TxHash),
  reason: Type.Optional(field.orNull(Type.String(), 'Why the order was cancelled or the fill failed.')),
});

export const getOrder = defineEndpoint({
  ...read, role: 'api',
  id: 'getOrder', path: '/api/v1/orders/{hash}', tag: 'Orders', summary: 'One order, open or closed, with its history',
  description: 'An order is found as soon as it is accepted. Every entry of the history has the log position of its record: see /api/v1/events.',
  parameters: { orderHash: inPath('hash', kind.orderHash, parameter.orderHashText) },
  answer: {
    description: 'The order.',
    schema: field.answer('OrderWithHistory', {
      ...openOrder, trader: field.Address, outcome: field.Outcome, filledSize: field.amount('Filled part'),
      nonce: field.integer('uint64.'), expiration: field.integer('Unix seconds, uint64.'),
      status: field.OrderStatus,
      cancelReason: field.orNull(Type.String(), 'Why the order was cancelled; null if it was not.'),
      history: Type.Array(HistoryEntry, { description: 'What happened to the order, oldest first; at most the latest 1,000 fills.' }),
      historyFrom: Type.Optional(field.integer('Only of an order that is older than the read models\' history: fills that were settled before this log '
        + 'position are not in `history`, but in `filledSize`, and in /api/v1/events.')),
    }),
    examples: {
      'partly filled': {
        orderHash: example.orderHash, marketId: example.marketId, trader: example.alice, side: 0, outcome: 0,
        price: 620_000, size: 25_000_000,
        filledSize: 10_000_000, remainingSize: 15_000_000, nonce: 1, expiration: example.expiration, status: 'open', cancelReason: null,
        timestamp: example.placedAt,
        history: [
          { position: 4_217, type: 'accepted', size: 25_000_000, timestamp: example.placedAt },
          {
            position: 4_217, type: 'fill', fill: 310, role: 'taker', price: 600_000, size: 10_000_000, settlementStatus: 'matched', txHash: '',
            timestamp: example.placedAt,
          },
        ],
      },
    },
  },
  errors: ['unknown_order', 'unavailable'],
}, ({ lookUpOrder }: { readonly lookUpOrder: OrderLookup }) => lookUpOrder);
