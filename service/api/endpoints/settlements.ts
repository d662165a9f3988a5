/** The endpoints about settlement: trades that are not settled yet, trades that failed to settle, one transaction. */
import { Type } from '../../../engine/records/schema-types.js';
import * as kind from '../../../query/parameters.js';
import { MAX_SETTLEMENTS } from '../../../query/settlements.js';
import { problems } from '../../http/problems.js';
import * as field from '../answer-fields.js';
import { anybody } from '../authority.js';
import { defineEndpoint } from '../endpoint.js';
import * as example from '../examples.js';
import { inPath, inQuery } from '../parameter.js';
import * as parameter from '../parameters.js';

const reading = {
  role: 'query', method: 'GET', tag: 'Settlement', authority: anybody, errorShape: problems, limit: 'reads', consistent: true, errors: ['unavailable'],
} as const;

const IsoTime = (what: string) => Type.String({ pattern: '^\\d{4,6}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$', description: `${what}, ISO 8601 in UTC.` });
const BatchIndex = field.integer('Index of the trade in the transaction\'s batch, from 0.');
const IsBatch = Type.Boolean({ description: 'Whether the transaction settles several trades.' });
const parties = {
  marketId: field.Bytes32, buyerAddress: field.Address, sellerAddress: field.Address, fillSize: field.amount('Shares'), fillPrice: field.Price,
  fill: field.integer('Number of the fill.'), outcome: field.Outcome,
};
const sides = { buyerAddress: example.alice, sellerAddress: example.bob, fillSize: 10_000_000, fillPrice: 600_000 };
const waiting = { marketId: example.marketId, ...sides, timestamp: example.placedAtIso };
const limit = parameter.limit({ byDefault: MAX_SETTLEMENTS, max: MAX_SETTLEMENTS });

export const listPendingTrades = defineEndpoint({
  ...reading,
  id: 'listPendingTrades', path: '/api/v1/pending-trades', summary: 'Trades awaiting chain confirmation',
  description: 'Oldest first. `timestamp` is the time of the match. `txHash` is empty until a transaction is sent; then it is the hash of the latest '
    + 'transaction. A transaction that waits too long is replaced by a transaction with a higher fee.',
  parameters: {
    limit,
    next: inQuery('after', kind.optional(kind.position), {
      description: 'Only trades with a higher fill number. Send `next` of the previous page.', example: 310,
    }),
  },
  answer: {
    description: 'The trades.',
    schema: field.answer('PendingTrades', {
      pendingTrades: Type.Array(field.answer('PendingTrade', {
        ...parties, txHash: field.TxHash, timestamp: IsoTime('Time of the match'), isBatch: IsBatch, batchIndex: BatchIndex,
        settlementStatus: field.SettlementStatus,
      })),
      count: field.Count, next: Type.Optional(field.integer('Only on a full page. For the next page, send this value as `after`.')),
    }),
    examples: {
      'one sent, one not': {
        pendingTrades: [
          { ...waiting, txHash: example.txHash, isBatch: true, batchIndex: 3, fill: 310, outcome: 0, settlementStatus: 'pending' },
          { ...waiting, txHash: '', isBatch: false, batchIndex: 0, fill: 311, outcome: 1, settlementStatus: 'matched' },
        ],
        count: 2,
      },
      'none': { pendingTrades: [], count: 0 },
    },
  },
});

export const listFailedTrades = defineEndpoint({
  ...reading,
  id: 'listFailedTrades', path: '/api/v1/failed-trades', summary: 'Trades that failed settlement in the last 24 hours',
  description: 'Latest failure first. `timestamp` is the time of the failure. A failed trade is undone: no list of trades and no volume includes it.',
  parameters: {
    limit,
    next: inQuery('before', kind.optional(kind.position), {
      description: 'Only trades that failed before this log position. Send `next` of the previous page.', example: 4_200,
    }),
  },
  answer: {
    description: 'The trades.',
    schema: field.answer('FailedTrades', {
      failedTrades: Type.Array(field.answer('FailedTrade', {
        ...parties, txHash: field.Bytes32, reason: field.FailureReason, timestamp: IsoTime('Time of the failure'), batchIndex: BatchIndex,
      })),
      count: field.Count, next: field.Next,
    }),
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
});

const settlement = {
  ...parties, timestamp: IsoTime('Time at which the fill was confirmed, failed or, while it is pending, sent'), batchIndex: BatchIndex,
  reason: field.orNull(field.FailureReason, 'Why the chain refused the fill; null if it did not.'),
  replacedBy: field.orNull(field.Bytes32, 'Hash of the transaction that now contains the fill, if this one was replaced; else null.'),
  status: field.oneOf(['pending', 'confirmed', 'failed'], 'The state of the fill.'),
};
const fill = {
  fill: 310, marketId: example.marketId, ...sides, outcome: 0, status: 'confirmed', reason: null, replacedBy: null, timestamp: example.placedAtIso,
  batchIndex: 0,
};
const recordOf = (...fills: object[]) => ({ found: true, txHash: example.txHash, ...fills[0], isBatch: fills.length > 1, fills });

export const getSettlement = defineEndpoint({
  ...reading,
  id: 'getSettlement', path: '/api/v1/settlements/{txHash}', summary: 'Settlement status of a transaction',
  description: '`fills` has every fill of the transaction, each with its own status: one fill may fail while the others settle. One of them is also at '
    + 'top level: the first confirmed fill; without one, the first pending fill; a failed fill only when all have failed. '
    + '`replacedBy` is the transaction that now contains a fill, if this one was replaced. For an unknown transaction: only `found`, false.',
  parameters: {
    txHash: inPath('txHash', kind.transactionHash, { description: 'Hash of a settlement transaction.', example: example.txHash }),
  },
  answer: {
    description: 'The status.',
    schema: Type.Union([
      field.answer('Settlement', {
        found: Type.Literal(true), txHash: field.Bytes32, ...settlement, isBatch: IsBatch,
        fills: Type.Array(field.answer('SettledFill', settlement), {
          description: 'All fills of the transaction, in its order.',
        }),
      }, { description: 'The answer for a settlement transaction.' }),
      field.answer('UnknownSettlement', { found: Type.Literal(false) }, { description: 'The answer for any other hash.' }),
    ]),
    examples: {
      'confirmed': recordOf(fill),
      'a batch that failed in part': {
        ...recordOf(fill, { ...fill, fill: 309, status: 'failed', reason: 'buyer_insufficient_balance' }), batchIndex: 1,
        fills: [{ ...fill, fill: 309, status: 'failed', reason: 'buyer_insufficient_balance' }, { ...fill, batchIndex: 1 }],
      },
      'replaced by a higher fee': recordOf({ ...fill, status: 'pending', replacedBy: example.digest }),
      'unknown': { found: false },
    },
  },
});
