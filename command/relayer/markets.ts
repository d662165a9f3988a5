/**
 * The markets that a request names, by condition or by contract: what of them the relayer must know, read from the
 * chain.
 */
import type { Contracts } from '../chain/chain.js';
import type { ContractCall } from '../chain/abi.js';
import type { RelayRequest } from './bodies.js';
import type { ChainReads } from '../chain/chain-reads.js';

export interface RelayMarket {
  /** Also the condition's id. */
  readonly marketId: string;
  /** Lower-case hex. */
  readonly address: string;
  /** The contract that resolves it. */
  readonly resolver: string;
  /**
   * What a proposal signs and posts: of the one that is there, else of the next one. In units of 1e-6 of the
   * collateral.
   */
  readonly bond: bigint;
  /** ERC-1155 ids of YES and NO. */
  readonly tokens: readonly [bigint, bigint];
  /** What a YES and a NO share pay, divided by their sum; both 0 until the market is resolved. */
  readonly payouts: readonly [bigint, bigint];
}

/**
 * The markets by the condition's id, or by the address that the request names them with. Without those that there are
 * not.
 */
export type RelayMarkets = ReadonlyMap<string, RelayMarket>;

/** How a request names its markets. */
export function marketNames({ action, body }: RelayRequest): readonly string[] {
  switch (action) {
    case 'ctf-redemption':
    case 'ctf-split':
    case 'ctf-merge': return [body.conditionId];
    case 'batch-ctf-redemption': return [...new Set(body.redemptions.map(({ conditionId }) => conditionId))];
    case 'propose-resolution':
    case 'settle-market': return [body.marketAddress];
    case 'ctf-approval':
    case 'usdc-permit': return [];
  }
}

export interface MarketParts {
  readonly contracts: Contracts;
  readonly reads: Pick<ChainReads, 'views'>;
  /** Whether the history has the market on this chain. */
  readonly isKnown: (marketId: string) => boolean;
}

/**
 * Reads the markets with these names. A market counts only when both the factory and the history have it. Throws
 * ChainUnavailable.
 */
export async function readMarkets(
  names: readonly string[], { contracts, reads, isKnown }: MarketParts,
): Promise<RelayMarkets> {
  const to = contracts.marketFactory;
  // The history is read first: a condition that it does not have costs no request.
  const candidates = names.filter((name) => !isConditionId(name) || isKnown(name));
  const others = await reads.views(candidates.map((name) => (
    { abi: 'marketFactory', to, method: isConditionId(name) ? 'marketOf' : 'marketIdOf', args: [name] })), 'latest');
  const places = candidates.flatMap((name, i) => {
    const other = String(others[i]).toLowerCase();
    if (/^(undefined|0x0*)$/.test(other)) return [];
    const [marketId, address] = isConditionId(name) ? [name, other] : [other, name];
    return isKnown(marketId) ? [{ name, marketId, address }] : [];
  });
  const facts = await reads.views(places.flatMap((place) => callsFor(place, contracts)), 'latest');
  return new Map(places.flatMap(({ name, marketId, address }, i) => {
    const [
      resolver, ownBond, yesId, noId, yesPays, noPays, bond = ownBond,
    ] = facts.slice(i * FACTS, (i + 1) * FACTS) as Facts;
    if (resolver === undefined || bond === undefined || yesId === undefined || noId === undefined) return [];
    return [[name, {
      marketId, address, bond, resolver: resolver.toLowerCase(), tokens: [yesId, noId],
      payouts: [yesPays ?? 0n, noPays ?? 0n],
    } satisfies RelayMarket] as const];
  }));
}

/**
 * What `callsFor` asks for, in its order; undefined for what the contracts do not have. The resolver's bond is absent
 * for quick markets, for a resolver of an earlier version, whose proposals have the market's own, and while the oracle
 * does not answer.
 */
type Facts = [
  resolver: string | undefined, ownBond: bigint | undefined, yesId: bigint | undefined, noId: bigint | undefined,
  yesPays: bigint | undefined,
  noPays: bigint | undefined, bond: bigint | undefined,
];
const FACTS = 7;

function callsFor(
  { marketId, address }: { marketId: string; address: string }, { conditionalTokens, oracleResolver }: Contracts,
): ContractCall[] {
  const view = (method: string): ContractCall => ({ abi: 'market', to: address, method, args: [] });
  const pays = (index: number): ContractCall => ({ abi: 'conditionalTokens', to: conditionalTokens, method: 'payoutNumerators', args: [marketId, index] });
  const bond: ContractCall = { abi: 'oracleResolver', to: oracleResolver, method: 'bondOf', args: [address] };
  return [view('resolver'), view('bond'), view('yesId'), view('noId'), pays(0), pays(1), bond];
}

export function isResolved({ payouts: [yes, no] }: RelayMarket): boolean {
  return yes + no > 0n;
}

/** 0 when YES has won, 1 when NO has; 0 also when both are paid. */
export function winnerOf({ payouts: [yes] }: RelayMarket): 0 | 1 {
  return yes > 0n ? 0 : 1;
}

function isConditionId(name: string): boolean {
  return name.length === 66;
}
