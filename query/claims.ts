/** Redemptions that users have asked the relayer for, and what became of a request to the relayer. */
import { MAX_CLAIMS, type RelayAction } from '../engine/records/fields.js';
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { defineEndpoint } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import { inQuery } from '../service/api/parameter.js';
import * as kind from '../service/api/request-fields.js';
import type { Database } from './database.js';
import { NextCursor, pageOfListing, pageParameters } from './paging.js';
import { read, wholeSecond, type SharedReads } from './reading.js';
import { bytes, hex, listing, positionOf, type Answer, type Page, type RowSource } from './statement.js';
import { transactionHash } from './trades.js';

/** The most claims per answer; `next` leads to the next page. */
export const MAX_CLAIM_ENTRIES = 1_000;

/** A failed claim is listed for 24 hours, like a failed trade. */
const FAILED_WINDOW_MS = 86_400_000;

const from = 'claims join markets using (market_id)';
const item = `${transactionHash('tx_hash')} as "txHash", ${hex('user_address')} as "userAddress", ${hex('contract_address')} as "marketAddress",
    ${hex('market_id')} as "marketId", payout,
    case when not resolved or markets.winning_outcome is not null then claims.winning_outcome end as "winningOutcome", at_ms / 1000 as "submittedAt", chain_id as "chainId"`;

/** SQL: a claim's number. A command has at most ${MAX_CLAIMS} claims, so that numbers follow the log and stay below 2^53. */
const numberOf = (position: string) => `${position} * ${MAX_CLAIMS} + index`;
/** SQL: the log position and the index in the number $2; the bounds before the first page are given. */
const pageStart = (position: number, index: number) => (
  `(coalesce($2::bigint / ${MAX_CLAIMS}, ${position}), coalesce(($2::bigint % ${MAX_CLAIMS})::integer, ${index}))`);

const pending = listing({
  name: 'pending_claims', projections: ['markets', 'claims'], answered: 'pendingClaims', from, item,
  filter: `status < 2 and (position, index) > ${pageStart(-1, 0)}`, sort: 'position, index', key: numberOf('position'), order: 'asc',
});

const failed = listing({
  name: 'failed_claims', projections: ['markets', 'claims'], answered: 'failedClaims', from, item: `${item}, reason, ended_at_ms / 1000 as "failedAt"`,
  filter: `status = 3 and ended_at_ms > $3::bigint and (ended_position, index) < ${pageStart(Number.MAX_SAFE_INTEGER, 0)}`,
  sort: 'ended_at_ms desc, ended_position desc, index desc', key: numberOf('ended_position'), order: 'desc',
});

/**
 * `GET /pending-claims`: redemptions that the chain has not confirmed, oldest first. Until a transaction is sent, `txHash` is empty.
 * `submittedAt` is when the relayer took the request. A full page has `next`: send it as `after` for the next page.
 */
export function pendingClaims(db: Database, asked: Page): Promise<Answer> {
  return pageOfListing(db, pending, { ...asked, list: 'pending_claims', byDefault: MAX_CLAIM_ENTRIES });
}

/**
 * `GET /failed-claims`: redemptions that failed later than now - 24 h, latest failure first. `txHash` is empty if no transaction was sent.
 * A full page has `next`: send it as `before` for the next page.
 */
export function failedClaims(db: Database, { nowMs, ...asked }: Page & { nowMs: number }): Promise<Answer> {
  return pageOfListing(db, failed, { ...asked, list: 'failed_claims', byDefault: MAX_CLAIM_ENTRIES, more: [nowMs - FAILED_WINDOW_MS] });
}

/** What became of a request to the relayer. */
export interface RelayRecord {
  readonly action: RelayAction;
  readonly chainId: number;
  readonly owner: string;
  /** `failed`: at least one result is a failure. */
  readonly status: 'requested' | 'submitted' | 'succeeded' | 'failed';
  /** The transaction that was submitted last, or that ended the request; undefined if none was. */
  readonly txHash: string | undefined;
  /** RelayEnded's results; empty until the request has ended. */
  readonly results: readonly { readonly succeeded: boolean; readonly reason: string | null }[];
  /** The log position up to which this is true. */
  readonly position: number;
}

const STATUSES = ['requested', 'submitted', 'succeeded', 'failed'] as const;

const relayOf = {
  name: 'relay_of_request',
  text: `
    select action, chain_id::text, ${hex('owner')} as owner, status, ${transactionHash('tx_hash')} as tx_hash, results,
      ${positionOf(['claims'])}::text as position
    from relays where request_id = $1`,
};

interface RelayRow {
  readonly action: RelayAction;
  readonly chain_id: string;
  readonly owner: string;
  readonly status: number;
  readonly tx_hash: string;
  readonly results: string | null;
  readonly position: string;
}

/** The latest request with this id, open or ended; undefined for one that the read models do not have (yet). Throws RequestError `unavailable`. */
export async function relayOfRequest(db: RowSource, { requestId }: { requestId: string }): Promise<RelayRecord | undefined> {
  const [row] = await db.rows<RelayRow>(relayOf, [bytes(requestId)]);
  if (row === undefined) return undefined;
  const { action, chain_id: chainId, owner, status, tx_hash: txHash, results, position } = row;
  return {
    action, chainId: Number(chainId), owner, status: STATUSES[status] ?? 'failed', txHash: txHash === '' ? undefined : txHash,
    results: results === null ? [] : JSON.parse(results) as RelayRecord['results'], position: Number(position),
  };
}

const reading = { ...read, tag: 'Relayer', errors: ['unavailable'] } as const;

const claimFields = {
  txHash: { ...field.TxHash, description: 'Hash of the latest redemption transaction; empty until one is sent.' },
  userAddress: field.Address, marketAddress: field.Address, marketId: field.Bytes32, payout: field.amount('Expected payout in stablecoin'),
  winningOutcome: field.orNull(field.Outcome, '0 = YES, 1 = NO; null for a market paid half to half.'), submittedAt: field.integer('When the relayer took the request, Unix seconds.'), chainId: field.ChainId,
};
const claim = {
  txHash: example.txHash, userAddress: example.alice, marketAddress: example.contractAddress, marketId: example.marketId, payout: 10_000_000,
  winningOutcome: 0, submittedAt: example.placedAt, chainId: 31_337,
};
const pages = pageParameters({ byDefault: MAX_CLAIM_ENTRIES, max: MAX_CLAIM_ENTRIES });

export const listPendingClaims = defineEndpoint({
  ...reading,
  id: 'listPendingClaims', path: '/api/v1/pending-claims', summary: 'Redemptions awaiting on-chain confirmation',
  description: 'Redemptions that users have asked the relayer for, oldest first; each item of a batch is one. A redemption is confirmed as soon as the chain '
    + 'has paid the user in that market, whoever sent the transaction.',
  parameters: {
    ...pages,
    next: inQuery('after', kind.optional(kind.position), { description: 'Only later redemptions. Send `next` of the previous page.', example: 84_340 }),
  },
  shownLimit: { name: 'maxClaimsPerPage', value: MAX_CLAIM_ENTRIES, description: 'Most pending or failed claims in an answer.' },
  answer: {
    description: 'The redemptions.',
    schema: field.answer('PendingClaims', {
      pendingClaims: Type.Array(field.answer('PendingClaim', claimFields)),
      count: field.Count, next: Type.Optional(field.integer('Only on a full page. For the next page, send this value as `after`.')), nextCursor: NextCursor,
    }),
    examples: { 'one sent, one not': { pendingClaims: [claim, { ...claim, txHash: '' }], count: 2 }, 'none': { pendingClaims: [], count: 0 } },
  },
}, ({ db, share }: SharedReads) => share('pending_claims', ['markets', 'claims'], (page) => pendingClaims(db, page)));

export const listFailedClaims = defineEndpoint({
  ...reading,
  id: 'listFailedClaims', path: '/api/v1/failed-claims', summary: 'Redemptions that failed on-chain in the last 24 hours',
  description: 'Latest failure first. The user still has the shares, and can ask again.',
  parameters: {
    ...pages,
    next: inQuery('before', kind.optional(kind.position), { description: 'Only earlier failures. Send `next` of the previous page.', example: 84_340 }),
  },
  answer: {
    description: 'The redemptions.',
    schema: field.answer('FailedClaims', {
      failedClaims: Type.Array(field.answer('FailedClaim', {
        ...claimFields, txHash: { ...field.TxHash, description: 'Hash of the redemption transaction; empty if none was sent.' },
        reason: field.orNull(Type.String(), 'Why the redemption failed; null if nothing is known.'),
        failedAt: field.integer('Time of the failure, Unix seconds.'),
      })),
      count: field.Count, next: field.Next, nextCursor: NextCursor,
    }),
    examples: {
      'one redemption': { failedClaims: [{ ...claim, reason: 'the transaction reverted', failedAt: example.placedAt + 30 }], count: 1 },
      'none': { failedClaims: [], count: 0 },
    },
  },
}, ({ db, share, now }: SharedReads) => {
  const shared = share('failed_claims', ['markets', 'claims'], (asked: Page & { nowMs: number }) => failedClaims(db, asked));
  return (page) => shared({ ...page, nowMs: wholeSecond(now()) });
});
