/** Rate limits by client address: one counter a limit class and window, told in the RateLimit headers. */
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { ipKeyGenerator, rateLimit, type RateLimitInfo } from 'express-rate-limit';
import { RequestError } from '../../engine/records/errors.js';
import type { Endpoint } from '../api/endpoint.js';

export interface RateLimits {
  readonly windowS: number;
  /** Requests a client address may make in a window; 0 = no limit. */
  readonly orders: number;
  readonly reads: number;
}

/** Middleware that counts a request against its limit, by class; none for a class without a limit. */
export type Limiters = Readonly<Partial<Record<Endpoint['limit'], RequestHandler>>>;

/** What a limiter leaves on the request that it has counted. */
interface Counted {
  limiterName?: string;
  limiterPolicy?: string;
  rateLimit?: RateLimitInfo;
}

/** The middleware of each class that has a limit. IPv6 clients count by their /56, since one subscriber has at least that. */
export function createLimiters({ windowS, orders, reads }: RateLimits): Limiters {
  return {
    ...(orders === 0 ? {} : { orders: limiter('orders', orders, windowS) }),
    ...(reads === 0 ? {} : { reads: limiter('reads', reads, windowS) }),
  };
}

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers-08 for a counted request, as the flat list that `writeHead` takes; none for
 * an uncounted one. Not by the library: its `setHeader` a header and a SHA-256 a request cost as much as the whole rest of an
 * order's way through the shell.
 */
export function limitHeaders(request: IncomingMessage): readonly string[] {
  const { rateLimit: info, limiterName, limiterPolicy } = request as Counted;
  if (info === undefined) return NONE;
  return ['RateLimit', `"${limiterName!}"; r=${info.remaining}; t=${secondsLeft(info)}`, 'RateLimit-Policy', limiterPolicy!];
}

const NONE: readonly string[] = [];

function limiter(name: string, limit: number, windowS: number): RequestHandler {
  const policy = `"${name}"; q=${limit}; w=${windowS}`;
  const count = rateLimit({
    windowMs: windowS * 1_000,
    limit,
    standardHeaders: false,
    legacyHeaders: false,
    keyGenerator: (request) => ipKeyGenerator(request.ip ?? ''),
    handler: (request, _response, next) => {
      const retryAfterS = secondsLeft((request as Counted).rateLimit!);
      next(new RequestError('rate_limited', `at most ${limit} ${name} in ${windowS} s`, [], { retryAfterS }));
    },
    // Its checks compare Express' own trust-proxy setting with headers that anybody may send.
    validate: false,
  });
  return (request, response, next) => {
    (request as Counted).limiterName = name;
    (request as Counted).limiterPolicy = policy;
    return count(request, response, next);
  };
}

/** Until the window ends, by the wall clock that the library's counters use. */
function secondsLeft({ resetTime }: RateLimitInfo): number {
  return Math.max(1, Math.ceil(((resetTime?.getTime() ?? 0) - Date.now()) / 1_000));
}
