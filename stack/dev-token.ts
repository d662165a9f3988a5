/** `POST /api/v1/dev/token`: the bearer token of a development stack, for the page that the stack itself serves. */
import * as field from '../engine/records/answer-fields.js';
import { Type } from '../engine/records/schema-types.js';
import { anybody } from '../service/api/authority.js';
import { defineEndpoint, serve, type Route } from '../service/api/endpoint.js';
import { problems } from '../service/api/problems.js';

export const TOKEN_PATH = '/api/v1/dev/token';

/** The route of the endpoint. It is for pages of this machine alone: see `ownPagesOnly`. */
export function tokenRoutes(token: string): readonly Route[] {
  return serve([giveToken], { developmentToken: token });
}

export const giveToken = defineEndpoint({
  id: 'giveToken', role: 'every', method: 'POST', path: TOKEN_PATH, tag: 'Service', summary: 'The relayer\'s token for the page',
  description: 'The bearer token of this development stack, with the scope `relay`: the page at `/` needs it to have the relayer send something '
    + 'for a wallet. Pages of other sites do not get it, nor does who reaches the stack by another name than that of its own machine; '
    + 'any program on that machine does. No other deployment has this path.',
  parameters: {},
  authority: anybody, errorShape: problems,
  answer: {
    description: 'The token.',
    schema: field.answer('DevelopmentToken', { token: Type.String({ description: 'A bearer token.' }) }),
    examples: { token: { token: 'pex_0000000000000000000000000000000000000000000' } },
  },
  errors: ['other_site'],
  limit: 'none', consistent: false,
}, ({ developmentToken }: { readonly developmentToken: string }) => () => ({ body: JSON.stringify({ token: developmentToken }) }));
