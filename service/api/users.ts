/** The routes about one user: open orders, positions, activity. */
import { addressOf, chainIdOf, limitOf, marketReferenceOf, type MarketReference } from '../../query/parameters.js';
import { MAX_ORDERS, type OrderPage } from '../../query/orders.js';
import { USER_ACTIVITY_LIMIT } from '../../query/trades.js';
import * as example from './examples.js';
import type { Answer } from '../../query/statement.js';
import { page } from './orders.js';
import * as parameter from './parameters.js';
import type { ApiRequest, Route } from './route.js';
import * as schema from './schemas.js';

export interface UserQueries {
  ordersOfUser(asked: OrderPage & { user: string; chainId: number }): Promise<Answer>;
  positionsOfUser(asked: { user: string; chainId: number }): Promise<Answer>;
  userActivity(asked: { user: string; chainId: number; limit: number }): Promise<Answer>;
  positionInMarket(asked: { market: MarketReference; user: string }): Promise<Answer>;
}

export function userRoutes(queries: UserQueries): Route[] {
  return [ordersRoute(queries), positionsRoute(queries), activityRoute(queries), positionRoute(queries)];
}

const ofUser = ({ params, query }: ApiRequest) => ({
  user: addressOf({ name: 'address', value: params['address'] }), chainId: chainIdOf({ name: 'chain_id', value: query['chain_id'] }),
});

function ordersRoute(queries: UserQueries): Route {
  return {
    id: 'listUserOrders', method: 'GET', path: '/api/v1/users/{address}/orders', tag: 'Users', summary: 'All open orders of a user on a chain',
    description: 'Newest first, with their markets\' questions.',
    parameters: [
      parameter.inPath(parameter.address), parameter.required(parameter.chainId),
      parameter.optional(parameter.limit(MAX_ORDERS, MAX_ORDERS)), parameter.optional(parameter.before),
    ],
    answer: {
      description: 'The open orders.', schema: schema.UserOrdersAnswer,
      examples: {
        'one order': {
          orders: [{
            orderHash: example.orderHash, marketId: example.marketId, marketQuestion: example.question, side: 0, outcome: 0,
            price: 620_000,
            size: 25_000_000, remainingSize: 15_000_000, timestamp: example.placedAt,
          }],
        },
      },
    },
    errors: ['invalid_request', 'invalid_address', 'invalid_chain_id', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: (request) => queries.ordersOfUser({ ...ofUser(request), ...page(request.query) }),
  };
}

function positionsRoute(queries: UserQueries): Route {
  return {
    id: 'listUserPositions', method: 'GET', path: '/api/v1/users/{address}/positions', tag: 'Users', summary: 'All positions of a user on a chain',
    description: 'One entry a market, with what is invested in it.',
    parameters: [parameter.inPath(parameter.address), parameter.required(parameter.chainId)],
    answer: {
      description: 'The positions.', schema: schema.UserPositionsAnswer,
      examples: {
        'one position': {
          positions: [{
            marketId: example.marketId, marketQuestion: example.question, contractAddress: example.contractAddress,
            expiration: example.expiration,
            resolved: false, yesShares: 10_000_000, noShares: 0, totalInvested: 6_000_000,
          }],
        },
      },
    },
    errors: ['invalid_request', 'invalid_address', 'invalid_chain_id', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: (request) => queries.positionsOfUser(ofUser(request)),
  };
}

function activityRoute(queries: UserQueries): Route {
  return {
    id: 'getUserActivity', method: 'GET', path: '/api/v1/users/{address}/activity', tag: 'Users', summary: 'Latest trades and payouts of a user on a chain',
    description: 'Newest first. `settlements` are payouts of resolved markets; `limit` is for each of the two.',
    parameters: [
      parameter.inPath(parameter.address), parameter.required(parameter.chainId),
      parameter.optional(parameter.limit(USER_ACTIVITY_LIMIT.byDefault, USER_ACTIVITY_LIMIT.max)),
    ],
    answer: {
      description: 'The activity.', schema: schema.UserActivityAnswer,
      examples: {
        'one trade, one payout': {
          activity: [{
            marketId: example.marketId, marketQuestion: example.question, price: 600_000, size: 10_000_000, userRole: 'buyer', timestamp: example.placedAt,
            txHash: '', settlementStatus: 'matched',
          }],
          settlements: [{
            marketId: example.digest, marketQuestion: 'Will it rain in Oslo?', payout: 2_500_000, winningOutcome: 1, timestamp: example.placedAt,
            txHash: example.txHash,
          }],
        },
      },
    },
    errors: ['invalid_request', 'invalid_address', 'invalid_chain_id', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: (request) => queries.userActivity({
      ...ofUser(request), limit: limitOf({ name: 'limit', value: request.query['limit'] }, USER_ACTIVITY_LIMIT),
    }),
  };
}

function positionRoute(queries: UserQueries): Route {
  return {
    id: 'getPosition', method: 'GET', path: '/api/v1/positions/{marketAddress}', tag: 'Users', summary: 'A user\'s position in one market',
    description: 'Cost is average cost. Without a position: `yesShares` 0 and `noShares` 0 only.',
    parameters: [parameter.inPath(parameter.marketAddress), parameter.required(parameter.user)],
    answer: {
      description: 'The position.', schema: schema.PositionAnswer,
      examples: {
        position: { yesShares: 10_000_000, noShares: 0, totalInvested: 6_000_000, yesCost: 6_000_000, noCost: 0 },
        none: { yesShares: 0, noShares: 0 },
      },
    },
    errors: ['invalid_request', 'invalid_address', 'invalid_market_id', 'unknown_market', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: ({ params, query }) => queries.positionInMarket({
      market: marketReferenceOf({ name: 'marketAddress', value: params['marketAddress'] }), user: addressOf({ name: 'user', value: query['user'] }),
    }),
  };
}
