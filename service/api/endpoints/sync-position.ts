/** The endpoint that corrects a user's position by the chain's balances. */
import Type from 'typebox';
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
  summary: 'Correct a user\'s position by the chain\'s balances',
  description: 'Reads the user\'s shares from the chain and records them where the exchange has other numbers. The user is named in the body or in the query. '
    + 'Shares that the exchange did not know of have no cost.',
  parameters: {
    user: inQuery('userAddress', kind.optional(kind.address), {
      description: 'Owner of the position, where the body does not name one.', example: example.alice,
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
    description: 'The position, as the chain has it.',
    schema: field.answer('PositionSync', {
      success: Type.Boolean(), position: field.answer('SyncedPosition', { ...field.shares, totalInvested: field.Invested }),
      message: Type.String({ description: 'What was done.' }),
    }),
    examples: {
      corrected: {
        success: true, position: { yesShares: 10_000_000, noShares: 0, totalInvested: 6_000_000 }, message: 'Position synced from on-chain balances',
      },
    },
    headers: { 'X-Log-Position': 'Log position that the answer is true at: the position of the correction, where there was one, or a later one.' },
  },
  errors: ['unknown_market', 'chain_unavailable', 'overloaded', 'outcome_unknown', 'not_caught_up', 'unavailable'],
  limit: 'orders', consistent: false,
});

/** A position as the chain has it; shares and stablecoin in units of 1e-6. */
export interface SyncedPosition {
  readonly success: boolean;
  readonly position: { readonly yesShares: bigint; readonly noShares: bigint; readonly totalInvested: bigint };
  readonly message: string;
  /** Log position that it is true at, for `X-Log-Position`: the correction's or a later one. */
  readonly logPosition: number;
}

/** Throws RequestError `unknown_market`, `chain_unavailable`, and those of a command that is written. */
export type SyncPosition = (asked: { readonly market: kind.MarketReference; readonly user: string }) => Promise<SyncedPosition>;

/** The endpoint's handler: one user, however named, and amounts as JSON integers that are exact at any size. */
export function syncHandler(sync: SyncPosition): Handle<typeof syncPosition> {
  return async (asked) => {
    const { success, position, message, logPosition } = await sync({ market: asked.market, user: userOf(asked) });
    const { yesShares, noShares, totalInvested } = position;
    const body = `{"success":${success},"position":{"yesShares":${yesShares},"noShares":${noShares},"totalInvested":${totalInvested}},`
      + `"message":${JSON.stringify(message)}}`;
    return { body, position: logPosition };
  };
}

/** The user, from the body, the query or both alike. */
function userOf({ body: { userAddress }, user }: Asked<typeof syncPosition>): string {
  if (userAddress !== undefined && user !== undefined && userAddress !== user) {
    const message = 'not one user in the body and another in the query';
    throw new RequestError('invalid_request', `userAddress: ${message}`, [{ field: '/userAddress', message }]);
  }
  return userAddress ?? user ?? kind.address.parse({ name: 'userAddress', value: undefined });
}
