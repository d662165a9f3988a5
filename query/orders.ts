/** A trader's open orders, newest first: in one market or in all, or on one chain with the markets' questions. */
import type { Database } from './database.js';
import { answer, answering, bytes, hex, type Answer, type Projection, type Statement } from './statement.js';

/** How many open orders an answer has; `before` gives the next page. */
export const ORDERS_LIMIT = { byDefault: 1_000, max: 1_000 } as const;

/** A page of open orders: at most `limit`, all placed before log position `before`. */
export interface OrderPage {
  readonly limit?: number;
  readonly before?: number | undefined;
}

const ofTrader = openOrders({
  name: 'orders_of_trader', projections: ['orders'],
  from: 'orders', filter: '($2::bytea is null or market_id = $2)',
  item: `${hex('order_hash')} as "orderHash", ${hex('market_id')} as "marketId", side, price, size, remaining as "remainingSize",
    placed_at_ms / 1000 as timestamp`,
});

const ofUser = openOrders({
  name: 'orders_of_user', projections: ['orders', 'markets'],
  from: 'orders join markets using (market_id)', filter: 'chain_id = $2::bigint',
  item: `${hex('order_hash')} as "orderHash", ${hex('market_id')} as "marketId", question as "marketQuestion", side, outcome, price, size,
    remaining as "remainingSize", placed_at_ms / 1000 as timestamp`,
});

/**
 * `GET /orders`: a trader's open orders. `count` is the number of all of them, on whichever page. A full page has `next`: send it as `before`
 * to get the next page.
 */
export function ordersOfTrader(
  db: Database, { trader, marketId, limit = ORDERS_LIMIT.byDefault, before }: OrderPage & { trader: string; marketId?: string | undefined },
): Promise<Answer> {
  return answer(db, ofTrader, [bytes(trader), marketId === undefined ? null : bytes(marketId), before ?? null, limit]);
}

/** `GET /users/{address}/orders`: a user's open orders on a chain, with `count` and pages as in `GET /orders`. */
export function ordersOfUser(
  db: Database, { user, chainId, limit = ORDERS_LIMIT.byDefault, before }: OrderPage & { user: string; chainId: number },
): Promise<Answer> {
  return answer(db, ofUser, [bytes(user), chainId, before ?? null, limit]);
}

interface OpenOrders {
  readonly name: string;
  readonly projections: readonly Projection[];
  readonly from: string;
  /** The condition on $2. */
  readonly filter: string;
  readonly item: string;
}

/**
 * Parameters: $1 trader, $2 the filter's, $3 before, $4 limit. The JSON is built as text, because `next` is not always present. All orders
 * are counted only when the page may not have all of them.
 */
function openOrders({ name, projections, from, filter, item }: OpenOrders): Statement {
  const open = `from ${from} where trader = $1 and status = 0 and ${filter}`;
  return answering(name, projections, `(
    select '{"orders":[' || coalesce(string_agg(item, ',' order by number desc), '') || '],"count":'
      || case when count(*) < $4 and $3::bigint is null then count(*) else (select count(*) ${open}) end
      || case when count(*) = $4 then ',"next":' || min(number) else '' end || '}'
    from (
      select orders.number, row_to_json(item)::text as item
      from ${from} cross join lateral (select ${item}) item
      where trader = $1 and status = 0 and orders.number < coalesce($3::bigint, ${Number.MAX_SAFE_INTEGER}) and ${filter}
      order by orders.number desc limit $4::integer) page)`);
}
