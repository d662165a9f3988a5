/** The routes of orders: place, cancel, look up. The hot one comes first. */
import { MAX_BODY_BYTES } from '../http/body.js';
import { addressOf, limitOf, optionalMarketIdOf, optionalPositionOf, orderHashOf } from '../../query/parameters.js';
import { MAX_ORDERS, type OrderPage } from '../../query/orders.js';
import type { Answer } from '../../query/statement.js';
import * as example from './examples.js';
import * as parameter from './parameters.js';
import type { ApiRequest, Handler, Reply, Route } from './route.js';
import * as schema from './schemas.js';

export interface OrderHandlers {
  /** Takes the raw body; throws RequestError. */
  readonly placeOrder: Handler;
  /** Takes `params.hash`, the query and the X-Cancel headers; throws RequestError. */
  readonly cancelOrder: Handler;
}

export interface OrderQueries {
  ordersOfTrader(asked: OrderPage & { trader: string; marketId: string | undefined }): Promise<Answer>;
  orderWithHistory(asked: { orderHash: string }): Promise<Answer>;
}

export function orderRoutes({ placeOrder, cancelOrder }: OrderHandlers, queries: OrderQueries): Route[] {
  return [placeRoute(placeOrder), cancelRoute(cancelOrder), listRoute(queries), lookUpRoute(queries)];
}

const order = {
  marketId: example.marketId, trader: example.alice, side: 0, outcome: 0, price: 620_000, size: 25_000_000, nonce: 1,
  expiration: example.expiration, makerFeeRecipient: `0x${'0'.repeat(40)}`,
};

function placeRoute(handler: Handler): Route {
  return {
    id: 'placeOrder', method: 'POST', path: '/api/v1/orders', tag: 'Orders', summary: 'Submit a signed order',
    description: 'The order is matched at once against the resting orders of the same outcome, by price, then time; what is left rests. The answer comes when '
      + 'the order is durable. The same signed order again is not an error: it gets its first answer, with `Idempotent-Replayed: true`.',
    parameters: [],
    body: {
      schema: schema.PlaceOrderBody, limitBytes: MAX_BODY_BYTES,
      examples: {
        'order': { order, signature: example.signature },
        'order with permit': {
          order: { ...order, size: '25000000', nonce: '2' }, signature: example.signature,
          permitSignature: { nonce: 0, value: '15500000', deadline: example.expiration, v: 27, r: `0x${'11'.repeat(32)}`, s: `0x${'22'.repeat(32)}` },
        },
      },
    },
    answer: {
      description: 'The order is taken in.', schema: schema.PlaceOrderAnswer,
      examples: { accepted: { orderHash: example.orderHash, status: 'accepted', matches: 1, timestamp: example.placedAt } },
      headers: { 'X-Log-Position': 'The order\'s position in the log.', 'Idempotent-Replayed': '`true` when this order had been submitted before.' },
    },
    errors: [
      'invalid_json', 'invalid_request', 'invalid_price', 'invalid_size', 'invalid_expiration', 'invalid_signature', 'invalid_permit', 'unknown_market',
      'market_closed', 'duplicate_nonce', 'nonce_cancelled', 'insufficient_balance', 'insufficient_allowance', 'chain_unavailable', 'overloaded', 'outcome_unknown', 'unavailable',
    ],
    limit: 'orders', consistent: false, handler,
  };
}

function cancelRoute(handler: Handler): Route {
  return {
    id: 'cancelOrder', method: 'DELETE', path: '/api/v1/orders/{hash}', tag: 'Orders', summary: 'Cancel an order',
    description: 'Cancels what is left of an open order. An order that is cancelled already answers alike; one that is filled does not.',
    parameters: [
      parameter.inPath(parameter.hash), parameter.required(parameter.marketId), parameter.optional(parameter.side),
      parameter.cancelSignature, parameter.cancelDeadline,
    ],
    answer: {
      description: 'The order is cancelled.', schema: schema.CancelAnswer,
      examples: { cancelled: { status: 'cancelled', orderHash: example.orderHash, filledSize: 10_000_000, remainingSize: 15_000_000 } },
      headers: { 'X-Log-Position': 'The cancel\'s position in the log.' },
    },
    errors: [
      'invalid_request', 'invalid_order_hash', 'invalid_market_id', 'cancel_signature_required', 'invalid_cancel_signature', 'not_order_owner',
      'unknown_order', 'already_filled', 'overloaded', 'outcome_unknown', 'unavailable',
    ],
    limit: 'orders', consistent: false, handler,
  };
}

function listRoute(queries: OrderQueries): Route {
  return {
    id: 'listOrders', method: 'GET', path: '/api/v1/orders', tag: 'Orders', summary: 'Open orders of a trader',
    description: 'Newest first, in one market or in all.',
    parameters: [
      parameter.required(parameter.trader), parameter.optional(parameter.market),
      parameter.optional(parameter.limit(MAX_ORDERS, MAX_ORDERS)), parameter.optional(parameter.before),
    ],
    answer: {
      description: 'The open orders.', schema: schema.OrdersAnswer,
      examples: {
        'one order': {
          orders: [{
            orderHash: example.orderHash, marketId: example.marketId, side: 0, price: 620_000, size: 25_000_000,
            remainingSize: 15_000_000,
            timestamp: example.placedAt,
          }],
          count: 1,
        },
        'none': { orders: [], count: 0 },
      },
    },
    errors: ['invalid_request', 'invalid_address', 'invalid_market_id', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: ({ query }) => queries.ordersOfTrader({
      trader: addressOf({ name: 'trader', value: query['trader'] }),
      marketId: optionalMarketIdOf({ name: 'market', value: query['market'] }),
      ...page(query),
    }),
  };
}

/** The page of open orders that a request asks for. */
export function page(query: ApiRequest['query']): OrderPage {
  return {
    limit: limitOf({ name: 'limit', value: query['limit'] }, { byDefault: MAX_ORDERS, max: MAX_ORDERS }),
    before: optionalPositionOf({ name: 'before', value: query['before'] }),
  };
}

function lookUpRoute(queries: OrderQueries): Route {
  return {
    id: 'getOrder', method: 'GET', path: '/api/v1/orders/{hash}', tag: 'Orders', summary: 'One order, open or closed, with its history',
    description: 'Every entry of the history names the log position that proves it: see /api/v1/events.',
    parameters: [parameter.inPath(parameter.hash)],
    answer: {
      description: 'The order.', schema: schema.OrderAnswer,
      examples: {
        'partly filled': {
          orderHash: example.orderHash, marketId: example.marketId, trader: example.alice, side: 0, outcome: 0, price: 620_000,
          size: 25_000_000,
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
    errors: ['invalid_order_hash', 'unknown_order', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: ({ params }): Promise<Reply> => queries.orderWithHistory({ orderHash: orderHashOf({ name: 'hash', value: params['hash'] }) }),
  };
}
