/** Rate limits per client address: one counter per limit class and window, reported in the RateLimit headers. */
import { ipKeyGenerator, rateLimit, type RateLimitInfo } from 'express-rate-limit';
import { RequestError } from '../../engine/records/errors.js';
import type { Endpoint } from '../api/endpoint.js';
import type { Found, Step } from './step.js';

/** Length of the window in which the exchange counts requests. */
export const RATE_LIMIT_WINDOW_S = 60;

export interface RateLimits {
  readonly windowS: number;
  /** Requests per client address and window; 0 = no limit. */
  readonly orders: number;
  readonly reads: number;
}

/** A step by limit class, which counts a request against the limit; absent for a class without a limit. */
export type Limiters = Readonly<Partial<Record<Endpoint['limit'], Step>>>;

/** The step of each class that has a limit. IPv6 clients are counted by their /56 prefix: a subscriber has at least one. */
export function createLimiters({ windowS, orders, reads }: RateLimits): Limiters {
  return {
    ...(orders === 0 ? {} : { orders: limiter('orders', orders, windowS) }),
    ...(reads === 0 ? {} : { reads: limiter('reads', reads, windowS) }),
  };
}

/**
 * Sets the headers of draft-ietf-httpapi-ratelimit-headers-08. Not by the library, which adds a hash of the client's address, by a SHA-256
 * per request.
 */
function limiter(name: string, limit: number, windowS: number): Step {
  const policy = `"${name}"; q=${limit}; w=${windowS}`;
  const count = rateLimit({
    windowMs: windowS * 1_000,
    limit,
    standardHeaders: false,
    legacyHeaders: false,
    keyGenerator: (_request, { locals }) => addressKey((locals as Found).address),
    handler: (request, _response, next) => {
      next(new RequestError('rate_limited', `at most ${limit} ${name} in ${windowS} s`, [], { retryAfterS: secondsLeft(request) }));
    },
    // The library's checks compare Express' trust-proxy setting with headers that any client may send.
    validate: false,
  }) as unknown as Step;
  const secondsLeft = (request: object): number => {
    const { resetTime } = (request as { readonly rateLimit: RateLimitInfo }).rateLimit;
    // By the wall clock, which the library's counters use.
    return Math.max(1, Math.ceil(((resetTime?.getTime() ?? 0) - Date.now()) / 1_000));
  };
  return (request, response, next) => count(request, response, (error?: unknown) => {
    const { remaining } = (request as unknown as { readonly rateLimit: RateLimitInfo }).rateLimit;
    response.setHeader('RateLimit', `"${name}"; r=${remaining}; t=${secondsLeft(request)}`);
    response.setHeader('RateLimit-Policy', policy);
    next(error);
  });
}

/** By what a client is counted: its IPv4 address, or the /56 prefix of its IPv6 address. Empty when the address is not known any more. */
export function addressKey(address = ''): string {
  return ipKeyGenerator(address);
}
