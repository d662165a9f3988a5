/** The endpoints of orders: place, cancel, list, look up. */
import { Type } from '../../../engine/records/schema-types.js';
import { PlaceOrderRequest } from '../../../command/orders/order-request.js';
import { AnyCaseBytes32, AnyCaseSignature } from '../../../engine/records/fields.js';
import { ORDERS_LIMIT } from '../../../query/orders/orders.js';
import * as kind from '../../../query/parameters.js';
import { MAX_BODY_BYTES } from '../../http/body.js';
import { problems } from '../../http/problems.js';
import * as field from '../answer-fields.js';
import { anybody, cancelSignature } from '../authority.js';
import { bytesOf } from '../body.js';
import { defineEndpoint } from '../endpoint.js';
import * as example from '../examples.js';
import { inHeader, inPath, inQuery } from '../parameter.js';
import * as parameter from '../parameters.js';

const order = {
  marketId: example.marketId, trader: example.alice, side: 0, outcome: 0, price: 620_000, size: 25_000_000, nonce: 1,
  expiration: example.expiration, makerFeeRecipient: `0x${'0'.repeat(40)}`,
};

/** The states of an accepted order. */
const ORDER_STATES = ['open', 'filled', 'cancelled'];

export const placeOrder = defineEndpoint({
  id: 'placeOrder', role: 'api', method: 'POST', path: '/api/v1/orders', tag: 'Orders', summary: 'Submit a signed order',
  description: 'The order is matched at once against the resting orders of the same outcome, by price, then time. The unfilled remainder rests in the book. '
    + 'The answer is sent when the order is durable. Sending the same signed order again is safe: it gets the first answer, with `Idempotent-Replayed: true` '
    + 'and the present `orderStatus`. Integers of the body may be JSON integers or decimal strings.',
  parameters: {},
  body: bytesOf(PlaceOrderRequest, {
    limitBytes: MAX_BODY_BYTES,
    examples: {
      'order': { order, signature: example.signature },
      'order with permit': {
        order: { ...order, size: '25000000', nonce: '2' }, signature: example.signature,
        permitSignature: { nonce: 0, value: '15500000', deadline: example.expiration, v: 27, r: `0x${'11'.repeat(32)}`, s: `0x${'22'.repeat(32)}` },
      },
    },
  }),
  authority: anybody, errorShape: problems,
  answer: {
    description: 'The order is accepted.',
    schema: field.answer('PlacedOrder', {
      orderHash: field.Bytes32, status: Type.Literal('accepted'), matches: field.integer('Number of trades that the order made at once.'), timestamp: field.Seconds,
      orderStatus: Type.Optional(field.oneOf(ORDER_STATES, 'Only when the same order was submitted before: the order\'s present state, as in '
      + '/api/v1/orders/{hash}. Missing if it is not known at the moment.')),
    }),
    examples: {
      accepted: { orderHash: example.orderHash, status: 'accepted', matches: 1, timestamp: example.placedAt },
      repeated: { orderHash: example.orderHash, status: 'accepted', matches: 1, timestamp: example.placedAt, orderStatus: 'cancelled' },
    },
    headers: { 'X-Log-Position': 'Log position of the order.', 'Idempotent-Replayed': '`true` when the same order was submitted before.' },
  },
  errors: [
    'invalid_json', 'invalid_request', 'invalid_price', 'invalid_size', 'size_too_small', 'invalid_expiration', 'invalid_signature', 'invalid_permit',
    'unknown_market', 'market_closed', 'trader_suspended', 'duplicate_nonce', 'nonce_cancelled', 'too_many_open_orders', 'insufficient_balance', 'insufficient_allowance',
    'chain_unavailable', 'clock_untrusted', 'disk_full', 'overloaded', 'outcome_unknown', 'unavailable',
  ],
  limit: 'orders', consistent: false,
});

/** The parameters are passed on unparsed: the command side checks them together with the right to cancel. */
export const cancelOrder = defineEndpoint({
  id: 'cancelOrder', role: 'api', method: 'DELETE', path: '/api/v1/orders/{hash}', tag: 'Orders', summary: 'Cancel an order',
  description: 'Cancels the unfilled remainder of an open order. Cancelling a cancelled order gives the same answer; cancelling a filled order is an error.',
  parameters: {
    orderHash: inPath('hash', kind.text(AnyCaseBytes32), parameter.orderHashTold),
    // Optional for the parser: a missing id is refused as invalid_market_id.
    marketId: inQuery('marketId', { ...kind.optional(kind.text(AnyCaseBytes32)), required: true }, {
      description: 'Market identifier.', example: example.marketId,
    }),
    side: inQuery('side', kind.optional(kind.text(Type.Union([Type.Literal('buy'), Type.Literal('sell')]))), {
      description: '`buy` or `sell`. Without this parameter, `buy` is tried first, then `sell`.', example: 'buy',
    }),
    signature: inHeader('X-Cancel-Signature', kind.optional(kind.text(AnyCaseSignature)), {
      description: 'The trader\'s EIP-712 signature of CancelOrder(bytes32 orderHash,address trader,uint64 deadline). Needed unless '
        + 'cancelAuth in /api/v1/config is open.',
      example: example.signature,
    }),
    deadline: inHeader('X-Cancel-Deadline', kind.optional(kind.text(Type.Integer({ minimum: 0 }))), {
      description: 'The deadline in the signed CancelOrder, in Unix seconds.', example: 1_900_000_000,
    }),
  },
  authority: cancelSignature, errorShape: problems,
  answer: {
    description: 'The order is cancelled.',
    schema: field.answer('CancelledOrder', {
      status: Type.Literal('cancelled'), orderHash: field.Bytes32, filledSize: field.amount('Shares that were filled before the cancel'),
      remainingSize: field.amount('Shares that were not filled and are now cancelled'),
    }),
    examples: { cancelled: { status: 'cancelled', orderHash: example.orderHash, filledSize: 10_000_000, remainingSize: 15_000_000 } },
    headers: { 'X-Log-Position': 'Log position of the cancel.' },
  },
  errors: [
    'invalid_order_hash', 'invalid_market_id', 'cancel_signature_required', 'invalid_cancel_signature', 'not_order_owner', 'other_site', 'unknown_order',
    'already_filled', 'disk_full', 'overloaded', 'outcome_unknown', 'unavailable',
  ],
  limit: 'orders', consistent: false,
});

const openOrder = {
  orderHash: field.Bytes32, marketId: field.Bytes32, side: field.Side, price: field.Price, size: field.amount('Original size'),
  remainingSize: field.amount('Unfilled part'), timestamp: field.Seconds,
};

const AllOpen = field.integer('Number of all open orders that match, also those on other pages.');

/** The parameters of a page of open orders. */
const page = {
  limit: parameter.limit(ORDERS_LIMIT),
  before: inQuery('before', kind.optional(kind.position), {
    description: 'Only orders placed before this log position. Send `next` of the previous page.', example: 4_200,
  }),
};

const reading = { role: 'query', method: 'GET', authority: anybody, errorShape: problems, limit: 'reads', consistent: true } as const;

export const listOrders = defineEndpoint({
  ...reading,
  id: 'listOrders', path: '/api/v1/orders', tag: 'Orders', summary: 'Open orders of a trader', description: 'Newest first, in one market or in all, page by page. `count` is the number of all these open orders, not of the page.',
  parameters: {
    trader: inQuery('trader', kind.address, { description: 'Owner of the orders.', example: example.alice }),
    marketId: inQuery('market', kind.optional(kind.marketId), { description: 'Only orders in this market.', example: example.marketId }),
    ...page,
  },
  answer: {
    description: 'The open orders.',
    schema: field.answer('OpenOrders', { orders: Type.Array(field.answer('OpenOrder', openOrder)), count: AllOpen, next: field.Next }),
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
});

export const listUserOrders = defineEndpoint({
  ...reading,
  id: 'listUserOrders', path: '/api/v1/users/{address}/orders', tag: 'Users', summary: 'All open orders of a user on a chain',
  description: 'Newest first, with the questions of their markets, page by page. `count` is the number of all these open orders, not of the page.',
  parameters: { user: parameter.userInPath, chainId: parameter.chainId, ...page },
  answer: {
    description: 'The open orders.',
    schema: field.answer('UserOpenOrders', {
      orders: Type.Array(field.answer('UserOpenOrder', { ...openOrder, marketQuestion: field.Question, outcome: field.Outcome })),
      count: AllOpen, next: field.Next,
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
});

const HistoryEntry = field.answer('OrderHistoryEntry', {
  position: field.LogPosition,
  type: field.oneOf(['accepted', 'fill', 'fill_failed', 'filled', 'cancelled'], 'What happened to the order.'),
  size: field.amount('Shares of this entry'),
  timestamp: field.orNull(field.Seconds, 'Unix seconds; null if the read model does not keep the time.'),
  fill: Type.Optional(field.integer('Number of the fill.')),
  role: Type.Optional(field.oneOf(['maker', 'taker'], 'Whether the order was the maker or the taker of the fill.')),
  price: Type.Optional(field.Price),
  settlementStatus: Type.Optional(field.SettlementStatus),
  txHash: Type.Optional(field.TxHash),
  reason: Type.Optional(field.orNull(Type.String(), 'Why the order was cancelled or the fill failed.')),
});

export const getOrder = defineEndpoint({
  ...reading, role: 'api',
  id: 'getOrder', path: '/api/v1/orders/{hash}', tag: 'Orders', summary: 'One order, open or closed, with its history',
  description: 'An order is found as soon as it is accepted. Every entry of the history has the log position of its record: see /api/v1/events.',
  parameters: { orderHash: inPath('hash', kind.orderHash, parameter.orderHashTold) },
  answer: {
    description: 'The order.',
    schema: field.answer('OrderWithHistory', {
      ...openOrder, trader: field.Address, outcome: field.Outcome, filledSize: field.amount('Filled part'),
      nonce: field.integer('uint64.'), expiration: field.integer('Unix seconds, uint64.'),
      status: field.oneOf(ORDER_STATES, 'The state of the order.'),
      cancelReason: field.orNull(Type.String(), 'Why the order was cancelled; null if it was not.'),
      history: Type.Array(HistoryEntry, { description: 'What happened to the order, oldest first; at most the latest 1,000 fills.' }),
    }),
    examples: {
      'partly filled': {
        orderHash: example.orderHash, marketId: example.marketId, trader: example.alice, side: 0, outcome: 0, price: 620_000, size: 25_000_000,
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
});
