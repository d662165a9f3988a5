/**
 * What `/api/v1/config` says about signing: by chain the domain of orders, and for each signed action domain, types and
 * what the nonce is.
 */
import {
  ORDER_ACTIONS, nonceMeanings, signedActions, signingDomains, type SignedAction, type SignedActionName,
  type SigningContract, type DomainParams,
} from './signed-actions.js';
import { NO_CHAIN } from './no-chain.js';
import type { OrderDomain, SigningDomain } from './typed-data.js';

/** What signing takes of a chain. */
export interface SigningChain {
  readonly chainId: number;
  /** The name in the signing domain of orders. */
  readonly domainName: string;
  /** Lower-case addresses. */
  readonly contracts: Readonly<Record<SigningContract, string>>;
}

export function orderDomain(
  { domainName, chainId, contracts }: Pick<SigningChain, 'domainName' | 'chainId'> & { readonly contracts: { readonly settlement: string } },
): OrderDomain {
  return { name: domainName, version: '1', chainId, verifyingContract: contracts.settlement };
}

/** The signing domain of each chain; with CHAINS=none, that of no chain. */
export function orderDomains(
  { chainId }: { readonly chainId: number }, chains: readonly { readonly chain: SigningChain }[],
): readonly OrderDomain[] {
  return chains.length > 0 ? chains.map(({ chain }) => orderDomain(chain)) : [orderDomain({ ...NO_CHAIN, chainId })];
}

/** A signed action as clients see it: all that `signTypedData` needs besides the message. */
export interface ShownAction {
  readonly primaryType: string;
  /** Null until the stablecoin has been read. */
  readonly domain: SigningDomain | null;
  readonly types: Readonly<Record<string, SignedAction['members']>>;
  /** `contract` and `call` give the next nonce on the chain; null where the nonce does not come from a contract. */
  readonly nonce: {
    readonly kind: string;
    readonly contract: string | null;
    readonly call: string | null;
    readonly meaning: string;
  };
}

/** Every signed action of a chain. */
export function shownActions(
  { chainId, contracts, domainName }: SigningChain, token: DomainParams['token'],
): Readonly<Record<SignedActionName, ShownAction>> {
  const domains = signingDomains({ chainId, contracts, settlementName: domainName, token });
  return Object.fromEntries(Object.entries<SignedAction>(signedActions).map(([name, action]) => [
    name, shownAction(action, domains[action.contract] ?? null, contracts),
  ])) as Record<SignedActionName, ShownAction>;
}

/** The actions of a stack without a chain: what traders sign about orders, in its domain. */
export function orderActions(domain: SigningDomain): Readonly<Record<typeof ORDER_ACTIONS[number], ShownAction>> {
  return Object.fromEntries(ORDER_ACTIONS.map((name) => (
    [name, shownAction(signedActions[name], domain)]))) as ReturnType<typeof orderActions>;
}

function shownAction(
  { primaryType, members, nonce: kind }: SignedAction, domain: SigningDomain | null, contracts?: SigningChain['contracts'],
): ShownAction {
  const { contract, call = null, meaning } = nonceMeanings[kind];
  const gives = contract === undefined ? null : contracts?.[contract] ?? null;
  return { primaryType, domain, types: { [primaryType]: members }, nonce: { kind, contract: gives, call, meaning } };
}
