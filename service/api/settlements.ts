/** The routes about settlement: trades that wait for the chain, trades that failed there, one transaction. */
import { limitOf, optionalPositionOf, transactionHashOf } from '../../query/parameters.js';
import { MAX_SETTLEMENTS, type SettlementPage } from '../../query/settlements.js';
import type { Answer } from '../../query/statement.js';
import * as example from './examples.js';
import * as parameter from './parameters.js';
import type { ApiRequest, Route } from './route.js';
import * as schema from './schemas.js';

export interface SettlementQueries {
  pendingTrades(asked: SettlementPage): Promise<Answer>;
  failedTrades(asked: SettlementPage): Promise<Answer>;
  settlementOfTransaction(asked: { txHash: string }): Promise<Answer>;
}

export function settlementRoutes(queries: SettlementQueries): Route[] {
  return [pendingRoute(queries), failedRoute(queries), transactionRoute(queries)];
}

const sides = { buyerAddress: example.alice, sellerAddress: example.bob, fillSize: 10_000_000, fillPrice: 600_000 };

/** The page that a request asks for; `name` is the parameter that takes the `next` of the page before. */
function page(query: ApiRequest['query'], name: 'after' | 'before'): SettlementPage {
  return {
    limit: limitOf({ name: 'limit', value: query['limit'] }, { byDefault: MAX_SETTLEMENTS, max: MAX_SETTLEMENTS }),
    next: optionalPositionOf({ name, value: query[name] }),
  };
}

function pendingRoute(queries: SettlementQueries): Route {
  const trade = { marketId: example.marketId, ...sides, timestamp: example.placedAtIso };
  return {
    id: 'listPendingTrades', method: 'GET', path: '/api/v1/pending-trades', tag: 'Settlement', summary: 'Trades awaiting chain confirmation',
    description: 'Oldest first; `timestamp` is when they matched. `txHash` is empty until a transaction is sent, and the latest one\'s after that: '
      + 'one that waits too long is replaced by one with a higher fee.',
    parameters: [parameter.optional(parameter.limit(MAX_SETTLEMENTS, MAX_SETTLEMENTS)), parameter.optional(parameter.after)],
    answer: {
      description: 'The trades.', schema: schema.PendingTradesAnswer,
      examples: {
        'one sent, one not': {
          pendingTrades: [
            { ...trade, txHash: example.txHash, isBatch: true, batchIndex: 3, fill: 310, outcome: 0, settlementStatus: 'pending' },
            { ...trade, txHash: '', isBatch: false, batchIndex: 0, fill: 311, outcome: 1, settlementStatus: 'matched' },
          ],
          count: 2,
        },
        'none': { pendingTrades: [], count: 0 },
      },
    },
    errors: ['invalid_request', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: ({ query }) => queries.pendingTrades(page(query, 'after')),
  };
}

function failedRoute(queries: SettlementQueries): Route {
  return {
    id: 'listFailedTrades', method: 'GET', path: '/api/v1/failed-trades', tag: 'Settlement', summary: 'Trades that failed settlement in the last 24 hours',
    description: 'The latest failure first; `timestamp` is when it failed. A failed trade never happened: it is in no list of trades and in no volume.',
    parameters: [parameter.optional(parameter.limit(MAX_SETTLEMENTS, MAX_SETTLEMENTS)), parameter.optional(parameter.beforeFailure)],
    answer: {
      description: 'The trades.', schema: schema.FailedTradesAnswer,
      examples: {
        'one trade': {
          failedTrades: [{
            marketId: example.marketId, txHash: example.txHash, ...sides, reason: 'seller_insufficient_shares', timestamp: example.placedAtIso,
            batchIndex: 3, fill: 310, outcome: 0,
          }],
          count: 1,
        },
        'none': { failedTrades: [], count: 0 },
      },
    },
    errors: ['invalid_request', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: ({ query }) => queries.failedTrades(page(query, 'before')),
  };
}

function transactionRoute(queries: SettlementQueries): Route {
  const fill = {
    fill: 310, marketId: example.marketId, ...sides, outcome: 0, status: 'confirmed', reason: null, replacedBy: null, timestamp: example.placedAtIso,
    batchIndex: 0,
  };
  const refused = { ...fill, fill: 311, status: 'failed', reason: 'buyer_insufficient_balance', batchIndex: 1 };
  const bumped = { ...fill, status: 'pending', replacedBy: example.digest };
  const recordOf = (...fills: object[]) => ({ found: true, txHash: example.txHash, ...fills[0], isBatch: fills.length > 1, fills });
  return {
    id: 'getSettlement', method: 'GET', path: '/api/v1/settlements/{txHash}', tag: 'Settlement', summary: 'Settlement status of a transaction',
    description: 'The transaction\'s first fill at top level, all of them in `fills`, each with its own status: one may fail while the others settle. '
      + '`replacedBy` is the transaction that a fill is in now, where this one was replaced. Of an unknown transaction: `found` false and nothing else.',
    parameters: [parameter.inPath(parameter.txHash)],
    answer: {
      description: 'The status.', schema: schema.SettlementAnswer,
      examples: {
        'confirmed': recordOf(fill),
        'a batch that failed in part': recordOf(fill, refused),
        'replaced by a higher fee': recordOf(bumped),
        'unknown': { found: false },
      },
    },
    errors: ['invalid_request', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: ({ params }) => queries.settlementOfTransaction({ txHash: transactionHashOf({ name: 'txHash', value: params['txHash'] }) }),
  };
}
