/**
 * What a process needs to look up the bearer tokens of its requests: nothing, if none of its endpoints asks for one.
 */
import { createAuthenticate, type Authenticate } from '../access/authenticate.js';
import { openTokenStore } from '../access/token-store.js';
import type { Route } from '../api/endpoint.js';
import type { Logger } from '../logger.js';
import { createRecurring } from '../recurring.js';

export interface BearerTokens {
  /** An option of the application; empty without an endpoint that asks for a token. */
  readonly lookUp: { readonly authenticate?: Authenticate };
  close(): Promise<void>;
}

/** `url`: the Postgres in which tokens are issued. Connects at the first request with a token. */
export function bearerTokensFor(
  routes: readonly Route[], { url, logger }: { readonly url: string; readonly logger: Logger },
): BearerTokens {
  if (routes.every(({ endpoint }) => endpoint.authority.scope === undefined)) {
    return { lookUp: {}, close: () => Promise.resolve() };
  }
  const tokens = openTokenStore({ url });
  const failed = createRecurring({ logger, what: 'bearer tokens' });
  const authenticate = createAuthenticate({
    tokens, now: () => performance.now(), onError: (error) => { failed(error.message); },
  });
  return { lookUp: { authenticate }, close: () => tokens.close() };
}
