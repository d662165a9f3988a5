/** The scopes of bearer tokens: what a token allows its holder to ask for. */
import { RequestError } from '../../engine/records/errors.js';
import { RelayAction } from '../../engine/records/fields.js';
import type { ClientErrorCode } from './errors.js';

export type Scope = 'relay' | `relay:${RelayAction}`;

/** Every scope. `relay` includes every `relay:…`. */
export const SCOPES: readonly Scope[] = ['relay', ...RelayAction.anyOf.map(({ const: action }) => `relay:${action}` as const)];

/** A token that a request has carried, found valid. */
export interface BearerToken {
  readonly id: number;
  readonly name: string;
  /** As stored: a later version may have issued scopes that this one does not know. */
  readonly scopes: readonly string[];
}

/** Whether one of the scopes is this scope or includes it. */
export function allows(scopes: readonly string[], scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes(scope.replace(/:.*/, ''));
}

/** Throws RequestError `insufficient_scope` unless the token has the scope. */
export function requireScope({ scopes }: Pick<BearerToken, 'scopes'>, scope: Scope): void {
  if (!allows(scopes, scope)) throw new RequestError<ClientErrorCode>('insufficient_scope', scope);
}
