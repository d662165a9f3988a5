/**
 * Finds the bearer token of a request: reads the Authorization header, and looks the token up, in memory for some
 * seconds after the last time.
 */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { RequestError } from '../../engine/records/errors.js';
import type { ClientError } from '../api/errors.js';
import type { BearerToken } from '../api/scopes.js';
import { TokensUnavailable, type FoundToken, type Tokens } from './token-store.js';
import { digestOf } from './token.js';

/**
 * The valid token in the values of a request's Authorization headers. Throws RequestError: `missing_token`,
 * `invalid_token`, `overloaded` when too many look-ups wait, `unavailable` when the database of the tokens cannot be
 * reached.
 */
export type Authenticate = (authorization: readonly string[]) => Promise<BearerToken>;

export interface AuthenticateOptions {
  readonly tokens: Pick<Tokens, 'use'>;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Called when the database cannot be reached, for the log lines; clients get `unavailable`. */
  readonly onError: (error: Error) => void;
}

/** How long after its revocation a token may still be taken, in each process. */
export const REMEMBERED_MS = 5_000;
const REMEMBERED_TOKENS = 10_000;
const MAX_LOOK_UPS = 1_000;

/** What is known of a hash: the token, or why it is not valid. */
type Verdict = { readonly token: BearerToken } | { readonly refusal: string };

export function createAuthenticate({ tokens, now, onError }: AuthenticateOptions): Authenticate {
  const known = new LRUCache<string, Verdict>({ max: REMEMBERED_TOKENS, perf: { now }, ttlResolution: 0 });
  const lookUps = new Map<string, Promise<Verdict>>();

  async function lookUp(key: string, sha256: Buffer): Promise<Verdict> {
    const start = now();
    try {
      const found = await tokens.use(sha256);
      const verdict = verdictOf(found, sha256);
      // Unknown hashes are not remembered: strangers can make any number of them, and would push out the tokens in use.
      if (found !== undefined) known.set(key, verdict, { start, ttl: rememberedMs(found) });
      return verdict;
    } catch (error) {
      if (!(error instanceof TokensUnavailable)) throw error;
      onError(error);
      throw new RequestError('unavailable', 'the bearer tokens cannot be looked up');
    } finally {
      lookUps.delete(key);
    }
  }

  /** One look-up at a time per token. */
  function shared(key: string, sha256: Buffer): Promise<Verdict> {
    const running = lookUps.get(key);
    if (running !== undefined) return running;
    if (lookUps.size >= MAX_LOOK_UPS) throw new RequestError('overloaded', 'too many bearer tokens to look up');
    const started = lookUp(key, sha256);
    lookUps.set(key, started);
    return started;
  }

  return async (authorization) => {
    const sha256 = digestOf(credentials(authorization));
    if (sha256 === undefined) throw invalid('this is no token of this exchange, or a part of it is wrong or missing');
    const key = sha256.toString('base64');
    const verdict = known.get(key) ?? await shared(key, sha256);
    if ('refusal' in verdict) throw invalid(verdict.refusal);
    return verdict.token;
  };
}

/** What follows the scheme `Bearer` (RFC 6750). Another scheme counts as no token, as the RFC says. */
function credentials(authorization: readonly string[]): string {
  const [given = '', ...others] = authorization;
  if (others.length > 0) throw invalid('Authorization is given more than once');
  const [, token] = /^bearer +(\S.*)$/i.exec(given) ?? [];
  if (token === undefined) throw new RequestError('missing_token');
  return token.trim();
}

/**
 * The index has found the row by its hash. Compared once more in constant time, so that nothing rests on how a database
 * compares.
 */
function verdictOf(found: FoundToken | undefined, sha256: Buffer): Verdict {
  if (found === undefined || !timingSafeEqual(found.sha256, sha256)) return { refusal: 'no such token was issued' };
  switch (found.state) {
    case 'expired': return { refusal: 'the token has expired' };
    case 'revoked': return { refusal: 'the token is revoked' };
    case 'live': return { token: { id: found.id, name: found.name, scopes: found.scopes } };
  }
}

/** A live token is not remembered beyond its expiration, which is judged by the database's clock alone. */
function rememberedMs({ state, remainingMs }: FoundToken): number {
  return state === 'live' && remainingMs !== null ? Math.max(1, Math.min(REMEMBERED_MS, Math.floor(remainingMs))) : REMEMBERED_MS;
}

function invalid(detail: string): ClientError {
  return new RequestError('invalid_token', detail);
}
