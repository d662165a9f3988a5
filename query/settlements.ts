/** Trades on their way to the chain: unsettled trades, recently failed trades, and the fills of one transaction. */
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { defineEndpoint } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import { inPath, inQuery } from '../service/api/parameter.js';
import * as kind from '../service/api/request-fields.js';
import type { Database } from './database.js';
import { NextCursor, pageOfListing, pageParameters } from './paging.js';
import { read, wholeSecond, type Reads, type SharedReads } from './reading.js';
import { answer, answering, bytes, hex, jsonObject, listing, type Answer, type Page, type Statement } from './statement.js';
import { settlementStatus, transactionHash } from './trades.js';

/** The most trades per answer; `next` leads to the next page. */
export const MAX_SETTLEMENTS = 1_000;

/** A failed trade is listed for 24 hours. */
const FAILED_WINDOW_MS = 86_400_000;

/** SQL: milliseconds since the Unix epoch as ISO 8601 in UTC. Uses intervals, which are exact; a division to seconds is not. */
const isoTime = (column: string) =>
  `to_char(timestamp 'epoch' + ${column} * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const parties = `${hex('buyer')} as "buyerAddress", ${hex('seller')} as "sellerAddress", size as "fillSize", price as "fillPrice"`;

/** SQL: each trade that `found` names, with its place in its current transaction. A transaction without a SettlementSubmitted has no places. */
const placed = (found: string) => `
  ${found} join trades on trades.number = found left join lateral (
    select array_position(fills, trades.number) - 1 as batch_index, cardinality(fills) as batch_size from submissions
    where submissions.tx_hash = trades.tx_hash and trades.number = any(fills) order by position limit 1) submission on true`;

const pending = listing({
  name: 'pending_trades', projections: ['trades'], from: placed('(select number as found from unsettled_trades) unsettled'),
  answered: 'pendingTrades', key: 'number', order: 'asc',
  item: `${hex('market_id')} as "marketId", ${transactionHash('trades.tx_hash')} as "txHash", ${parties},
    ${isoTime('trades.at_ms')} as timestamp, coalesce(batch_size > 1, false) as "isBatch", coalesce(batch_index, 0) as "batchIndex",
    number as fill, outcome, ${settlementStatus('settlement')} as "settlementStatus"`,
  filter: 'found > coalesce($2::bigint, -1)', sort: 'found',
});

const failed = listing({
  name: 'failed_trades', projections: ['trades'],
  from: placed('(select number as found, settled_at_ms as failed_at_ms, settled_position as failed_position from failed_trades) failed'),
  answered: 'failedTrades', key: 'settled_position', order: 'desc',
  item: `${hex('market_id')} as "marketId", ${transactionHash('trades.tx_hash')} as "txHash", ${parties}, failure_reason as reason,
    ${isoTime('settled_at_ms')} as timestamp, coalesce(batch_index, 0) as "batchIndex", number as fill, outcome`,
  filter: `failed_at_ms > $3::bigint and failed_position < coalesce($2::bigint, ${Number.MAX_SAFE_INTEGER})`,
  sort: 'failed_at_ms desc, failed_position desc',
});

/**
 * The fills that SettlementSubmitted named for a transaction, and fills that the transaction settled without being named. A fill's
 * `transaction` is its current one, which is another transaction if this one was replaced. `first` is the fill at top level: the first
 * confirmed one, else the first one that is still on its way, and a failed one only when all fills failed.
 */
const ofTransaction: Statement = answering('settlement_of_transaction', ['trades'], `(
  with fills as materialized (
    select trades.*, trades.tx_hash as transaction, batch_index, batch_size, submitted_at_ms
    from (
      select distinct on (fill) fill, place - 1 as batch_index, cardinality(fills) as batch_size, at_ms as submitted_at_ms
      from submissions cross join lateral unnest(fills) with ordinality as named (fill, place) where tx_hash = $1 order by fill, position, place
    ) submitted join trades on number = fill
    union all
    select trades.*, trades.tx_hash, row_number() over (order by number) - 1, count(*) over (), null
    from unannounced_settlements unannounced join trades on number = fill where unannounced.tx_hash = $1
  ), shown as (
    select *, row_number() over (order by batch_index, number) as place, ${settlementStatus('settlement')} as status,
      case when transaction <> $1 then ${hex('transaction')} end as replaced_by,
      ${isoTime('coalesce(settled_at_ms, submitted_at_ms, at_ms)')} as reached
    from fills
  ), first as (select * from shown order by case settlement when 2 then 0 when 3 then 2 else 1 end, place limit 1)
  select coalesce(${jsonObject(`
    select true as found, ${hex('$1::bytea')} as "txHash", status, ${hex('market_id')} as "marketId", ${parties}, reached as timestamp,
      batch_size > 1 as "isBatch", batch_index as "batchIndex", fill.number as fill, outcome, failure_reason as reason,
      replaced_by as "replacedBy", (select json_agg(row_to_json(entry)) from (
        select number as fill, ${hex('market_id')} as "marketId", ${parties}, outcome, status, failure_reason as reason,
          replaced_by as "replacedBy", reached as timestamp, batch_index as "batchIndex"
        from shown order by place) entry) as fills
    from first fill`)}, '{"found":false}'))`);

/**
 * `GET /pending-trades`: trades that the chain has not confirmed, oldest first. Until a trade's transaction is sent, `txHash` is empty and
 * `isBatch` is false. `timestamp` is when the trade matched. A full page has `next`, a fill number: send it as `after` for the next page.
 */
export function pendingTrades(db: Database, asked: Page): Promise<Answer> {
  return pageOfListing(db, pending, { ...asked, list: 'pending_trades', byDefault: MAX_SETTLEMENTS });
}

/**
 * `GET /failed-trades`: trades that failed later than now - 24 h, exact to the millisecond, latest failure first. `timestamp` is when the
 * trade failed. A full page has `next`, a log position: send it as `before` for the next page.
 */
export function failedTrades(db: Database, { nowMs, ...asked }: Page & { nowMs: number }): Promise<Answer> {
  return pageOfListing(db, failed, { ...asked, list: 'failed_trades', byDefault: MAX_SETTLEMENTS, more: [nowMs - FAILED_WINDOW_MS] });
}

/**
 * `GET /settlements/{txHash}`: the fills of a transaction, each with its own status. At top level is one of them: the first
 * confirmed one; without one, the first pending one; a failed one only when all failed. Gives `{"found":false}` when the hash is not of a
 * settlement. `replacedBy` is a fill's current transaction, if it is another one.
 */
export function settlementOfTransaction(db: Database, { txHash }: { txHash: string }): Promise<Answer> {
  return answer(db, ofTransaction, [bytes(txHash)]);
}

const reading = { ...read, tag: 'Settlement', errors: ['unavailable'] } as const;

const IsoTime = (what: string) => Type.String({ pattern: '^\\d{4,6}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$', description: `${what}, ISO 8601 in UTC.` });
const BatchIndex = field.integer('Index of the trade in the transaction\'s batch, from 0.');
const IsBatch = Type.Boolean({ description: 'Whether the transaction settles several trades.' });
const partyFields = {
  marketId: field.Bytes32, buyerAddress: field.Address, sellerAddress: field.Address, fillSize: field.amount('Shares'), fillPrice: field.Price,
  fill: field.integer('Number of the fill.'), outcome: field.Outcome,
};
const sides = { buyerAddress: example.alice, sellerAddress: example.bob, fillSize: 10_000_000, fillPrice: 600_000 };
const waiting = { marketId: example.marketId, ...sides, timestamp: example.placedAtIso };
const pages = pageParameters({ byDefault: MAX_SETTLEMENTS, max: MAX_SETTLEMENTS });

export const listPendingTrades = defineEndpoint({
  ...reading,
  id: 'listPendingTrades', path: '/api/v1/pending-trades', summary: 'Trades awaiting chain confirmation',
  description: 'Oldest first. `timestamp` is the time of the match. `txHash` is empty until a transaction is sent; then it is the hash of the latest '
    + 'transaction. A transaction that waits too long is replaced by a transaction with a higher fee.',
  parameters: {
    ...pages,
    next: inQuery('after', kind.optional(kind.position), {
      description: 'Only trades with a higher fill number. Send `next` of the previous page.', example: 310,
    }),
  },
  shownLimit: { name: 'maxSettlementsPerPage', value: MAX_SETTLEMENTS, description: 'Most pending or failed trades in an answer.' },
  answer: {
    description: 'The trades.',
    schema: field.answer('PendingTrades', {
      pendingTrades: Type.Array(field.answer('PendingTrade', {
        ...partyFields, txHash: field.TxHash, timestamp: IsoTime('Time of the match'), isBatch: IsBatch, batchIndex: BatchIndex,
        settlementStatus: field.SettlementStatus,
      })),
      count: field.Count, next: Type.Optional(field.integer('Only on a full page. For the next page, send this value as `after`.')), nextCursor: NextCursor,
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
}, ({ db, share }: SharedReads) => share('pending_trades', ['trades'], (page) => pendingTrades(db, page)));

export const listFailedTrades = defineEndpoint({
  ...reading,
  id: 'listFailedTrades', path: '/api/v1/failed-trades', summary: 'Trades that failed settlement in the last 24 hours',
  description: 'Latest failure first. `timestamp` is the time of the failure. A failed trade is undone: no list of trades and no volume includes it.',
  parameters: {
    ...pages,
    next: inQuery('before', kind.optional(kind.position), {
      description: 'Only trades that failed before this log position. Send `next` of the previous page.', example: 4_200,
    }),
  },
  answer: {
    description: 'The trades.',
    schema: field.answer('FailedTrades', {
      failedTrades: Type.Array(field.answer('FailedTrade', {
        ...partyFields, txHash: field.Bytes32, reason: field.FailureReason, timestamp: IsoTime('Time of the failure'), batchIndex: BatchIndex,
      })),
      count: field.Count, next: field.Next, nextCursor: NextCursor,
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
}, ({ db, share, now }: SharedReads) => {
  const shared = share('failed_trades', ['trades'], (asked: Page & { nowMs: number }) => failedTrades(db, asked));
  return (page) => shared({ ...page, nowMs: wholeSecond(now()) });
});

const settlement = {
  ...partyFields, timestamp: IsoTime('Time at which the fill was confirmed, failed or, while it is pending, sent'), batchIndex: BatchIndex,
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
}, ({ db }: Reads) => (params) => settlementOfTransaction(db, params));
