/** The route that corrects a user's position by the chain's balances. */
import { parseJsonObject } from '../../command/orders/exact-json.js';
import { RequestError } from '../../engine/records/errors.js';
import { addressOf, marketReferenceOf, type MarketReference } from '../../query/parameters.js';
import { MAX_BODY_BYTES } from '../http/body.js';
import * as example from './examples.js';
import * as parameter from './parameters.js';
import type { ApiRequest, Reply, Route } from './route.js';
import * as schema from './schemas.js';

/** A position as the chain has it; shares and stablecoin in units of 1e-6. */
export interface SyncedPosition {
  readonly success: boolean;
  readonly position: { readonly yesShares: bigint; readonly noShares: bigint; readonly totalInvested: bigint };
  readonly message: string;
  /** Log position that it is true at, for `X-Log-Position`: the correction's or a later one. */
  readonly logPosition: number;
}

export interface SyncHandlers {
  /** Throws RequestError `unknown_market`, `chain_unavailable`, and those of a command that is written. */
  readonly syncPosition: (asked: { readonly marketId: string; readonly user: string }) => Promise<SyncedPosition>;
}

export interface SyncQueries {
  /** Throws RequestError `unknown_market`. */
  marketIdOf(market: MarketReference): Promise<string>;
}

export function syncRoute({ syncPosition }: SyncHandlers, queries: SyncQueries): Route {
  return {
    id: 'syncPosition', method: 'POST', path: '/api/v1/positions/{marketId}/sync', tag: 'Users', summary: 'Correct a user\'s position by the chain\'s balances',
    description: 'Reads the user\'s shares from the chain and records them where the exchange has others. The user is named in the body or in the query. '
      + 'Shares that the exchange did not know of have no cost.',
    parameters: [parameter.inPath(parameter.marketReference), parameter.optional(parameter.userAddress)],
    body: {
      schema: schema.SyncBody, limitBytes: MAX_BODY_BYTES, optional: true, examples: { user: { userAddress: example.alice } },
    },
    answer: {
      description: 'The position, as the chain has it.', schema: schema.SyncAnswer,
      examples: {
        corrected: {
          success: true, position: { yesShares: 10_000_000, noShares: 0, totalInvested: 6_000_000 }, message: 'Position synced from on-chain balances',
        },
      },
      headers: { 'X-Log-Position': 'Log position that the answer is true at: the correction\'s, where there was one, or a later one.' },
    },
    errors: [
      'invalid_json', 'invalid_request', 'invalid_address', 'invalid_market_id', 'unknown_market', 'chain_unavailable', 'overloaded', 'outcome_unknown',
      'not_caught_up', 'unavailable',
    ],
    limit: 'orders', consistent: false,
    handler: async (request) => {
      const user = userIn(request);
      const marketId = await queries.marketIdOf(marketReferenceOf({ name: 'marketId', value: request.params['marketId'] }));
      return replyOf(await syncPosition({ marketId, user }));
    },
  };
}

/** The user, from the body, the query or both alike. */
function userIn({ query, rawBody }: ApiRequest): string {
  const name = 'userAddress';
  const inBody = rawBody.length === 0 ? undefined : bodyOf(rawBody)[name];
  const users = [inBody, query[name]].filter((value) => value !== undefined).map((value) => addressOf({ name, value }));
  const [user = addressOf({ name, value: undefined })] = users;
  if (users.some((other) => other !== user)) {
    const message = 'not one user in the body and another in the query';
    throw new RequestError('invalid_request', `${name}: ${message}`, [{ field: `/${name}`, message }]);
  }
  return user;
}

/** Throws invalid_json; invalid_request for a field that it does not have. */
function bodyOf(rawBody: Buffer): { readonly userAddress?: unknown } {
  const body = parseJsonObject(rawBody);
  const unknown = Object.keys(body).filter((key) => key !== 'userAddress').map((key) => ({ field: `/${key}`, message: 'no such field' }));
  if (unknown.length > 0) throw new RequestError('invalid_request', '', unknown);
  return body;
}

/** Amounts as JSON integers, exact at any size. */
function replyOf({ success, position, message, logPosition }: SyncedPosition): Reply {
  const { yesShares, noShares, totalInvested } = position;
  const body = `{"success":${success},"position":{"yesShares":${yesShares},"noShares":${noShares},"totalInvested":${totalInvested}},`
    + `"message":${JSON.stringify(message)}}`;
  return { body, position: logPosition };
}
