/** Issues bearer tokens: makes the secret, stores its hash, and returns the text, which nobody can get again. */
import { randomBytes } from 'node:crypto';
import type { Scope } from '../api/scopes.js';
import type { StoredToken, TokenStore, Tokens } from './token-store.js';
import { digestOf, SECRET_BYTES, tokenOf } from './token.js';

export interface TokenRequest {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Seconds until it expires; absent: it does not. */
  readonly expiresInS?: number | undefined;
}

export interface IssuedToken {
  /** The token itself. */
  readonly text: string;
  readonly stored: StoredToken;
}

/** A live token has this name. The message says what to do. */
export class DuplicateTokenName extends Error {
  constructor(name: string, id: number) {
    super(`bearer token ${id} has the name ${name}: choose another name, or revoke that token first`);
    this.name = 'DuplicateTokenName';
  }
}

/** Throws DuplicateTokenName: a name that several live tokens had would not say which one to revoke. */
export function issueToken(store: TokenStore, request: TokenRequest): Promise<IssuedToken> {
  return store.alone(async (tokens) => {
    const holder = (await tokens.list()).find(({ name, state }) => name === request.name && state === 'live');
    if (holder !== undefined) throw new DuplicateTokenName(request.name, holder.id);
    return addToken(tokens, request);
  });
}

/** Adds a token without a look at its name. */
export async function addToken(tokens: Tokens, request: TokenRequest): Promise<IssuedToken> {
  const text = tokenOf(randomBytes(SECRET_BYTES));
  const sha256 = digestOf(text);
  if (sha256 === undefined) throw new TypeError('a token that was just made has no digest');
  return { text, stored: await tokens.add({ ...request, sha256 }) };
}
