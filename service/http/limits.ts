/** Rate limits per client address: one counter per limit class and window, reported in the RateLimit headers. */
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { ipKeyGenerator, rateLimit, type RateLimitInfo } from 'express-rate-limit';
import { RequestError } from '../../engine/records/errors.js';
import type { Endpoint } from '../api/endpoint.js';

export interface RateLimits {
  readonly windowS: number;
  /** Requests per client address and window; 0 = no limit. */
  readonly orders: number;
  readonly reads: number;
}

/** Middleware by limit class, which counts a request against the limit; absent for a class without a limit. */
export type Limiters = Readonly<Partial<Record<Endpoint['limit'], RequestHandler>>>;

/** What a limiter adds to a request that it has counted. */
interface Counted {
  limiter?: { readonly name: string; readonly policy: string };
  rateLimit?: RateLimitInfo;
}

/** The middleware of each class that has a limit. IPv6 clients are counted by their /56 prefix: a subscriber has at least one. */
export function createLimiters({ windowS, orders, reads }: RateLimits): Limiters {
  return {
    ...(orders === 0 ? {} : { orders: limiter('orders', orders, windowS) }),
    ...(reads === 0 ? {} : { reads: limiter('reads', reads, windowS) }),
  };
}

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers-08 for a counted request, as the flat list that `writeHead` takes; empty for a
 * request that is not counted. Not written by the library: its `setHeader` per header and its SHA-256 per request cost as much time as
 * the rest of the shell takes for an order.
 */
export function limitHeaders(request: IncomingMessage): readonly string[] {
  const { rateLimit: info, limiter: own } = request as Counted;
  if (info === undefined || own === undefined) return NONE;
  return ['RateLimit', `"${own.name}"; r=${info.remaining}; t=${secondsLeft(info)}`, 'RateLimit-Policy', own.policy];
}

const NONE: readonly string[] = [];

function limiter(name: string, limit: number, windowS: number): RequestHandler {
  const own = { name, policy: `"${name}"; q=${limit}; w=${windowS}` };
  const count = rateLimit({
    windowMs: windowS * 1_000,
    limit,
    standardHeaders: false,
    legacyHeaders: false,
    keyGenerator: (request) => addressKey(request.ip),
    handler: (request, _response, next) => {
      const { rateLimit: info } = request as Counted;
      const retryAfterS = info === undefined ? windowS : secondsLeft(info);
      next(new RequestError('rate_limited', `at most ${limit} ${name} in ${windowS} s`, [], { retryAfterS }));
    },
    // The library's checks compare Express' trust-proxy setting with headers that any client may send.
    validate: false,
  });
  return (request, response, next) => {
    (request as Counted).limiter = own;
    return count(request, response, next);
  };
}

/** By what a client is counted: its IPv4 address, or the /56 prefix of its IPv6 address. Empty when the address is not known any more. */
export function addressKey(address = ''): string {
  return ipKeyGenerator(address);
}

/** Seconds until the window ends, at least 1, by the wall clock, which the library's counters use. */
function secondsLeft({ resetTime }: RateLimitInfo): number {
  return Math.max(1, Math.ceil(((resetTime?.getTime() ?? 0) - Date.now()) / 1_000));
}
