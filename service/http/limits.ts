/** Rate limits by client address: one counter a limit class and window, told in the RateLimit headers. */
import type { RequestHandler } from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import { RequestError } from '../../engine/errors.js';
import type { AppOptions } from './app.js';

export interface RateLimits {
  readonly windowS: number;
  /** Requests a client address may make in a window; 0 = no limit. */
  readonly orders: number;
  readonly reads: number;
}

/** The middleware of each class that has a limit. IPv6 clients count by their /56, since one subscriber has at least that. */
export function createLimiters({ windowS, orders, reads }: RateLimits): AppOptions['limiters'] {
  return {
    ...(orders === 0 ? {} : { orders: limiter('orders', orders, windowS) }),
    ...(reads === 0 ? {} : { reads: limiter('reads', reads, windowS) }),
  };
}

function limiter(identifier: string, limit: number, windowS: number): RequestHandler {
  return rateLimit({
    windowMs: windowS * 1_000,
    limit,
    identifier,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    keyGenerator: (request) => ipKeyGenerator(request.ip ?? ''),
    handler: (_request, _response, next) => { next(new RequestError('rate_limited', `at most ${limit} ${identifier} in ${windowS} s`)); },
    // Its checks compare Express' own trust-proxy setting with headers that anybody may send.
    validate: false,
  });
}
