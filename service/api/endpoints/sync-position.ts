/** The endpoint that sets a user's position to the balances on the chain. */
import { Type } from '../../../engine/records/schema-types.js';
import { RequestError } from '../../../engine/records/errors.js';
import * as kind from '../../../query/parameters.js';
import { MAX_BODY_BYTES } from '../../http/body.js';
import { problems } from '../../http/problems.js';
import * as field from '../answer-fields.js';
import { anybody } from '../authority.js';
import { objectOf } from '../body.js';
import { defineEndpoint, type Asked, type Handle } from '../endpoint.js';
import * as example from '../examples.js';
import { inPath, inQuery } from '../parameter.js';

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
export type SyncPosition = (asked: { readonly market: kind.MarketReference; readonly user: string }) => Promise<SyncedPosition>;

/** The handler of the endpoint. Amounts are JSON integers that are exact at any size. */
export function syncHandler(sync: SyncPosition): Handle<typeof syncPosition> {
  return async (asked) => {
    const { success, position, message, logPosition } = await sync({ market: asked.market, user: userOf(asked) });
    const { yesShares, noShares, totalInvested } = position;
    const body = `{"success":${success},"position":{"yesShares":${yesShares},"noShares":${noShares},"totalInvested":${totalInvested}},`
      + `"message":${JSON.stringify(message)}}`;
    return { body, position: logPosition };
  };
}

/** The user in the body or the query; both may name the same user. Throws RequestError. */
function userOf({ body: { userAddress }, user }: Asked<typeof syncPosition>): string {
  if (userAddress !== undefined && user !== undefined && userAddress !== user) {
    const message = 'not one user in the body and another in the query';
    throw new RequestError('invalid_request', `userAddress: ${message}`, [{ field: '/userAddress', message }]);
  }
  return userAddress ?? user ?? kind.address.parse({ name: 'userAddress', value: undefined });
}
