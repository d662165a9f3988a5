/** A trader's open orders, newest first: in one market or in all, or on one chain with the markets' questions. */
import { Type } from '../../engine/records/schema-types.js';
import * as field from '../../engine/records/answer-fields.js';
import { defineEndpoint } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { inQuery } from '../../service/api/parameter.js';
import * as parameter from '../../service/api/parameters.js';
import * as kind from '../../service/api/request-fields.js';
import type { Database } from '../database.js';
import { isPaged, keyAfter, NextCursor, page, pageParameters, type PageRequest } from '../paging.js';
import { read, type Reads } from '../reading.js';
import { bytes, hex, positionOf, type Answer, type ProjectionName, type Statement } from '../statement.js';
import { openOrder } from './order.js';

/** How many open orders an answer has; `before` gives the next page. */
export const ORDERS_LIMIT = { byDefault: 1_000, max: 1_000 } as const;

/** A page of open orders: at most `limit`, all placed before log position `before`, or after the page of the cursor. */
export interface OrderPage extends PageRequest {
  readonly before?: number | undefined;
}

/** SQL: open orders. */
const OPEN = 'open_orders open join orders on orders.number = open.number';

const ofTrader = openOrders({
  name: 'orders_of_trader', projections: ['orders'],
  from: OPEN, filter: '($2::bytea is null or market_id = $2)',
  count: `case when $2::bytea is null then (select count(*) from open_orders where trader = $1)
    else (select count(*) from ${OPEN} where open.trader = $1 and market_id = $2) end`,
  item: `${hex('order_hash')} as "orderHash", ${hex('market_id')} as "marketId", side, price, size, remaining as "remainingSize",
    placed_at_ms / 1000 as timestamp`,
});

const ofUser = openOrders({
  name: 'orders_of_user', projections: ['orders', 'markets'],
  from: `${OPEN} join markets using (market_id)`, filter: 'open.chain_id = $2::bigint',
  count: '(select count(*) from open_orders where trader = $1 and chain_id = $2::bigint)',
  item: `${hex('order_hash')} as "orderHash", ${hex('market_id')} as "marketId", question as "marketQuestion", side, outcome, price, size,
    remaining as "remainingSize", placed_at_ms / 1000 as timestamp`,
});

/**
 * `GET /orders`: a trader's open orders. `count` is the number of all of them, on whichever page. A full page has `next`: send it as `before`
 * to get the next page.
 */
export function ordersOfTrader(
  db: Database, { trader, marketId, ...asked }: OrderPage & { trader: string; marketId?: string | undefined },
): Promise<Answer> {
  return pageOfOrders(db, ofTrader, [bytes(trader), marketId === undefined ? null : bytes(marketId)], asked);
}

/** `GET /users/{address}/orders`: a user's open orders on a chain, with `count` and pages as in `GET /orders`. */
export function ordersOfUser(
  db: Database, { user, chainId, ...asked }: OrderPage & { user: string; chainId: number },
): Promise<Answer> {
  return pageOfOrders(db, ofUser, [bytes(user), chainId], asked);
}

function pageOfOrders(db: Database, statement: Statement, of: readonly unknown[], asked: OrderPage): Promise<Answer> {
  const { limit = ORDERS_LIMIT.byDefault, before = null, cursor } = asked;
  const [after = before] = keyAfter('orders', ['number'], cursor) ?? [];
  return page(db, { list: isPaged(asked) ? 'orders' : undefined, statement, values: [...of, after, limit] });
}

interface OpenOrders {
  readonly name: string;
  readonly projections: readonly ProjectionName[];
  readonly from: string;
  /** The condition on $2. */
  readonly filter: string;
  /** The number of all of them. */
  readonly count: string;
  readonly item: string;
}

/**
 * Parameters: $1 trader, $2 the filter's, $3 before, $4 limit. The JSON is built as text, because `next` is not always present. The
 * count reads a trader's open orders, of which there are MAX_OPEN_ORDERS at most.
 */
function openOrders({ name, projections, from, filter, count, item }: OpenOrders): Statement {
  return { name, text: `
    with page as materialized (
      select open.number, row_to_json(item)::text as item
      from ${from} cross join lateral (select ${item}) item
      where open.trader = $1 and open.number < coalesce($3::bigint, ${Number.MAX_SAFE_INTEGER}) and ${filter}
      order by open.number desc limit $4::integer
    )
    select '{"orders":[' || coalesce(string_agg(item, ',' order by number desc), '') || '],"count":'
        || ${count}
        || case when count(*) = $4 then ',"next":' || min(number) else '' end || '}' as body,
      case when count(*) = $4 then json_build_array(min(number))::text end as last, ${positionOf(projections)} as position
    from page` };
}

const AllOpen = field.integer('Number of all open orders that match, also those on other pages.');

/** The parameters of a page of open orders. */
const pages = {
  ...pageParameters(ORDERS_LIMIT),
  before: inQuery('before', kind.optional(kind.position), {
    description: 'Only orders placed before this log position. Send `next` of the previous page.', example: 4_200,
  }),
};

export const listOrders = defineEndpoint({
  ...read,
  id: 'listOrders', path: '/api/v1/orders', tag: 'Orders', summary: 'Open orders of a trader', description: 'Newest first, in one market or in all, page by page. `count` is the number of all these open orders, not of the page.',
  parameters: {
    trader: inQuery('trader', kind.address, { description: 'Owner of the orders.', example: example.alice }),
    marketId: inQuery('market', kind.optional(kind.marketId), { description: 'Only orders in this market.', example: example.marketId }),
    ...pages,
  },
  shownLimit: { name: 'maxOrdersPerPage', value: ORDERS_LIMIT.max, description: 'Most open orders in an answer.' },
  answer: {
    description: 'The open orders.',
    schema: field.answer('OpenOrders', { orders: Type.Array(field.answer('OpenOrder', openOrder)), count: AllOpen, next: field.Next, nextCursor: NextCursor }),
    examples: {
      'one order': {
        orders: [{
          orderHash: example.orderHash, marketId: example.marketId, side: 0, price: 620_000, size: 25_000_000, remainingSize: 15_000_000,
          timestamp: example.placedAt,
        }],
        count: 1,
      },
      'none': { orders: [], count: 0 },
    },
  },
  errors: ['unavailable'],
}, ({ db }: Reads) => (params) => ordersOfTrader(db, params));

export const listUserOrders = defineEndpoint({
  ...read,
  id: 'listUserOrders', path: '/api/v1/users/{address}/orders', tag: 'Users', summary: 'All open orders of a user on a chain',
  description: 'Newest first, with the questions of their markets, page by page. `count` is the number of all these open orders, not of the page.',
  parameters: { user: parameter.userInPath, chainId: parameter.chainId, ...pages },
  answer: {
    description: 'The open orders.',
    schema: field.answer('UserOpenOrders', {
      orders: Type.Array(field.answer('UserOpenOrder', { ...openOrder, marketQuestion: field.Question, outcome: field.Outcome })),
      count: AllOpen, next: field.Next, nextCursor: NextCursor,
    }),
    examples: {
      'one order': {
        orders: [{
          orderHash: example.orderHash, marketId: example.marketId, marketQuestion: example.question, side: 0, outcome: 0, price: 620_000,
          size: 25_000_000, remainingSize: 15_000_000, timestamp: example.placedAt,
        }],
        count: 1,
      },
    },
  },
  errors: ['unavailable'],
}, ({ db }: Reads) => (params) => ordersOfUser(db, params));
