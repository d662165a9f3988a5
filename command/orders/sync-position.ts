/** The endpoint that sets a user's position to the balances on the chain. */
import { RequestError } from '../../engine/records/errors.js';
import { Type } from '../../engine/records/schema-types.js';
import * as field from '../../engine/records/answer-fields.js';
import { anybody } from '../../service/api/authority.js';
import { MAX_BODY_BYTES, objectOf } from '../../service/api/body.js';
import { defineEndpoint } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { inPath, inQuery } from '../../service/api/parameter.js';
import { problems } from '../../service/api/problems.js';
import * as kind from '../../service/api/request-fields.js';

export const syncPosition = defineEndpoint({
  id: 'syncPosition', role: 'api', method: 'POST', path: '/api/v1/positions/{marketId}/sync', tag: 'Users',
  summary: 'Set a user\'s position to the balances on the chain',
  description: 'Reads the user\'s shares from the chain, and records them if the exchange has other numbers. The user is given in the body or in the query. '
    + 'Shares that the exchange did not know of have no cost.',
  parameters: {
    user: inQuery('userAddress', kind.optional(kind.address), {
      description: 'Owner of the position, if the body does not name one.', example: example.alice,
    }),
    market: inPath('marketId', kind.marketReference, {
      description: 'Market identifier, or the address of the market\'s contract.', example: example.marketId,
    }),
  },
  body: objectOf({ userAddress: kind.optional(kind.address) }, {
    optional: true, limitBytes: MAX_BODY_BYTES, examples: { user: { userAddress: example.alice } },
  }),
  authority: anybody, errorShape: problems,
  answer: {
    description: 'The position, equal to the balances on the chain.',
    schema: field.answer('PositionSync', {
      success: Type.Boolean(), position: field.answer('SyncedPosition', { ...field.shares, totalInvested: field.Invested }),
      message: Type.String({ description: 'What was done.' }),
    }),
    examples: {
      corrected: {
        success: true, position: { yesShares: 10_000_000, noShares: 0, totalInvested: 6_000_000 }, message: 'Position synced from on-chain balances',
      },
    },
    headers: { 'X-Log-Position': 'Log position at which the answer is true: the position of the correction, if there was one, or a later position.' },
  },
  errors: ['unknown_market', 'chain_unavailable', 'disk_full', 'overloaded', 'outcome_unknown', 'not_caught_up', 'unavailable'],
  limit: 'orders', consistent: false,
}, ({ syncPosition: sync }: { readonly syncPosition: SyncPosition }) => async (params) => {
  const { success, position, message, logPosition } = await sync({ market: params.market, user: userOf(params) });
  const { yesShares, noShares, totalInvested } = position;
  // Amounts are JSON integers that are exact at any size.
  const body = `{"success":${success},"position":{"yesShares":${yesShares},"noShares":${noShares},"totalInvested":${totalInvested}},`
    + `"message":${JSON.stringify(message)}}`;
  return { body, position: logPosition };
});

/** A position that equals the balances on the chain; shares and stablecoin in units of 1e-6. */
export interface SyncedPosition {
  readonly success: boolean;
  readonly position: { readonly yesShares: bigint; readonly noShares: bigint; readonly totalInvested: bigint };
  readonly message: string;
  /** Log position at which the answer is true, for `X-Log-Position`: that of the correction, or a later position. */
  readonly logPosition: number;
}

/** Throws RequestError `unknown_market`, `chain_unavailable`, and the errors of writing a command. */
export type SyncPosition = (params: { readonly market: kind.MarketReference; readonly user: string }) => Promise<SyncedPosition>;

/** The user in the body or the query; both may name the same user. Throws RequestError. */
function userOf({ body: { userAddress }, user }: {
  readonly body: { readonly userAddress: string | undefined }; readonly user: string | undefined;
}): string {
  if (userAddress !== undefined && user !== undefined && userAddress !== user) {
    const message = 'not one user in the body and another in the query';
    throw new RequestError('invalid_request', `userAddress: ${message}`, [{ field: '/userAddress', message }]);
  }
  return userAddress ?? user ?? kind.address.parse({ name: 'userAddress', value: undefined });
}
