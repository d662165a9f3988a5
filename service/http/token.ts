/** Finds the bearer token of a request to an endpoint that asks for one. */
import type { Authenticate } from '../access/authenticate.js';
import type { Endpoint } from '../api/endpoint.js';
import type { Step } from './step.js';

/** Throws RequestError for a request without a valid token. The token's scope is the handler's to check, after the body. */
export function bearerToken({ id }: Endpoint, authenticate: Authenticate | undefined): Step {
  if (authenticate === undefined) {
    return () => { throw new TypeError(`${id} needs a bearer token, but this application cannot look one up`); };
  }
  return async ({ headersDistinct }, response, next) => {
    response.locals.token = await authenticate(headersDistinct['authorization'] ?? []);
    next();
  };
}
