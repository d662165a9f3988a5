/** Rate limits per client address: one counter per limit class and window, reported in the RateLimit headers. */
import { MemoryStore, ipKeyGenerator, rateLimit, type RateLimitInfo } from 'express-rate-limit';
import { RequestError } from '../../engine/records/errors.js';
import type { Endpoint } from '../api/endpoint.js';
import type { RequestLocals, Middleware, StepResponse } from './step.js';

/** Length of the window in which the exchange counts requests. */
export const RATE_LIMIT_WINDOW_S = 60;

export interface RateLimits {
  readonly windowS: number;
  /** Requests per client address and window; 0 = no limit. */
  readonly orders: number;
  readonly reads: number;
}

/** The steps of a limit class. */
export interface Limiter {
  /** Counts a request against the limit. */
  readonly count: Middleware;
  /** Counts the rest of a request that weighs more than one, once its body is there. */
  readonly countRest: (weight: NonNullable<Endpoint['weight']>) => Middleware;
}

/** By limit class; absent for a class without a limit. */
export type Limiters = Readonly<Partial<Record<Endpoint['limit'], Limiter>>>;

/**
 * The step of each class that has a limit. IPv6 clients are counted by their /56 prefix: a subscriber has at least one.
 */
export function createLimiters({ windowS, orders, reads }: RateLimits): Limiters {
  return {
    ...(orders === 0 ? {} : { orders: limiter('orders', orders, windowS) }),
    ...(reads === 0 ? {} : { reads: limiter('reads', reads, windowS) }),
  };
}

/**
 * Sets the headers of draft-ietf-httpapi-ratelimit-headers-08. Not by the library, which adds a hash of the client's
 * address, by a SHA-256 per request.
 */
function limiter(name: string, limit: number, windowS: number): Limiter {
  const policy = `"${name}"; q=${limit}; w=${windowS}`;
  const store = new MemoryStore();
  const refusal = (retryAfterS: number) => new RequestError('rate_limited', `at most ${limit} ${name} in ${windowS} s`, [], { retryAfterS });
  const count = rateLimit({
    windowMs: windowS * 1_000,
    limit,
    standardHeaders: false,
    legacyHeaders: false,
    keyGenerator: (_request, { locals }) => addressKey((locals as RequestLocals).address),
    store,
    handler: (request, _response, next) => { next(refusal(secondsLeft(request))); },
    // The library's checks compare Express' trust-proxy setting with headers that any client may send.
    validate: false,
  }) as unknown as Middleware;
  const secondsLeft = (request: object): number => {
    const { resetTime } = (request as { readonly rateLimit: RateLimitInfo }).rateLimit;
    // By the wall clock, which the library's counters use.
    return Math.max(1, Math.ceil(((resetTime?.getTime() ?? 0) - Date.now()) / 1_000));
  };
  const tell = (request: object, response: StepResponse, remaining: number): void => {
    const state = `"${name}"; r=${Math.max(0, remaining)}; t=${secondsLeft(request)}`;
    response.locals.limitHeaders = ['RateLimit', state, 'RateLimit-Policy', policy];
  };
  return {
    count: (request, response, next) => count(request, response, (error?: unknown) => {
      tell(request, response, (request as unknown as { readonly rateLimit: RateLimitInfo }).rateLimit.remaining);
      next(error);
    }),
    countRest: (weight) => async (request, response, next) => {
      const key = addressKey(response.locals.address);
      const rest = weight(request.body ?? Buffer.alloc(0)) - 1;
      const { totalHits = 0 } = await store.get(key) ?? {};
      if (totalHits + rest > limit) {
        next(refusal(secondsLeft(request)));
        return;
      }
      for (let n = 0; n < rest; n++) await store.increment(key);
      tell(request, response, limit - totalHits - rest);
      next();
    },
  };
}

/**
 * By what a client is counted: its IPv4 address, or the /56 prefix of its IPv6 address. Empty when the address is not
 * known any more.
 */
export function addressKey(address = ''): string {
  return ipKeyGenerator(address);
}
