/** The endpoints about redemptions through the relayer: those that the chain has not confirmed yet, and those that failed. */
import { Type } from '../../../engine/records/schema-types.js';
import { MAX_CLAIM_ENTRIES } from '../../../query/claims.js';
import * as kind from '../../../query/parameters.js';
import { problems } from '../../http/problems.js';
import * as field from '../answer-fields.js';
import { anybody } from '../authority.js';
import { defineEndpoint } from '../endpoint.js';
import * as example from '../examples.js';
import { inQuery } from '../parameter.js';
import * as parameter from '../parameters.js';

const reading = {
  role: 'query', method: 'GET', tag: 'Relayer', authority: anybody, errorShape: problems, limit: 'reads', consistent: true, errors: ['unavailable'],
} as const;

const claimFields = {
  txHash: { ...field.TxHash, description: 'Hash of the latest redemption transaction; empty until one is sent.' },
  userAddress: field.Address, marketAddress: field.Address, marketId: field.Bytes32, payout: field.amount('Expected payout in stablecoin'),
  winningOutcome: field.orNull(field.Outcome, '0 = YES, 1 = NO; null for a market paid half to half.'), submittedAt: field.integer('When the relayer took the request, Unix seconds.'), chainId: field.ChainId,
};
const claim = {
  txHash: example.txHash, userAddress: example.alice, marketAddress: example.contractAddress, marketId: example.marketId, payout: 10_000_000,
  winningOutcome: 0, submittedAt: example.placedAt, chainId: 31_337,
};
const limit = parameter.limit({ byDefault: MAX_CLAIM_ENTRIES, max: MAX_CLAIM_ENTRIES });

export const listPendingClaims = defineEndpoint({
  ...reading,
  id: 'listPendingClaims', path: '/api/v1/pending-claims', summary: 'Redemptions awaiting on-chain confirmation',
  description: 'Redemptions that users have asked the relayer for, oldest first; each item of a batch is one. A redemption is confirmed as soon as the chain '
    + 'has paid the user in that market, whoever sent the transaction.',
  parameters: {
    limit,
    next: inQuery('after', kind.optional(kind.position), { description: 'Only later redemptions. Send `next` of the previous page.', example: 84_340 }),
  },
  answer: {
    description: 'The redemptions.',
    schema: field.answer('PendingClaims', {
      pendingClaims: Type.Array(field.answer('PendingClaim', claimFields)),
      count: field.Count, next: Type.Optional(field.integer('Only on a full page. For the next page, send this value as `after`.')),
    }),
    examples: { 'one sent, one not': { pendingClaims: [claim, { ...claim, txHash: '' }], count: 2 }, 'none': { pendingClaims: [], count: 0 } },
  },
});

export const listFailedClaims = defineEndpoint({
  ...reading,
  id: 'listFailedClaims', path: '/api/v1/failed-claims', summary: 'Redemptions that failed on-chain in the last 24 hours',
  description: 'Latest failure first. The user still has the shares, and can ask again.',
  parameters: {
    limit,
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
      count: field.Count, next: field.Next,
    }),
    examples: {
      'one redemption': { failedClaims: [{ ...claim, reason: 'the transaction reverted', failedAt: example.placedAt + 30 }], count: 1 },
      'none': { failedClaims: [], count: 0 },
    },
  },
});
