/**
 * What can become of an expired market that nobody has proposed an outcome of: what the oracle takes at present, and
 * from when it can be halved.
 */
import { within } from '../../engine/waiting.js';
import { encodeCall, type ContractCall } from './abi.js';
import type { ChainAccess } from './chain-access.js';
import { createChainReads, type ChainReads } from './chain-reads.js';
import type { Chain } from './chain.js';

/** A market that is neither resolved nor proposed. */
export interface UnresolvedMarket {
  /** Lower-case hex. */
  readonly contractAddress: string;
  readonly kind: 'standard' | 'quick';
  /** Unix seconds. */
  readonly expiration: number;
}

export interface ResolutionOptions {
  /** What a proposal signs and posts; absent for a quick market, which is resolved by prices. */
  readonly proposal?: {
    /** In units of 1e-6 of the collateral. */
    readonly bond: bigint;
    /** Why the oracle, or the collateral, takes no proposal at present; undefined when they do. */
    readonly refusal: string | undefined;
  };
  /**
   * From when the administrator may pay the market half to half, in Unix seconds by the chain's time; absent where its
   * resolver cannot.
   */
  readonly halvableFromS?: number;
}

/** What is the same for all markets of a chain. */
interface Terms {
  /** The oracle's least bond; undefined when the oracle does not answer. */
  readonly minimumBond: bigint | undefined;
  readonly refusal: string | undefined;
  /**
   * How long after its expiration a market can be halved, in seconds; undefined for resolvers of an earlier version.
   */
  readonly halveDelayS: Readonly<Record<UnresolvedMarket['kind'], number | undefined>>;
}

/** How long the terms of a chain are kept: clients may ask for many markets, and often. */
const KEPT_MS = 10_000;
/** Characters of a refusal: its text is the contracts' own. */
const MAX_REFUSAL = 300;
/** More than an assertion needs that ends at the bond's transfer. */
const SIMULATED_GAS = 1_000_000n;

export interface ResolutionOptionsParts {
  readonly chain: Pick<Chain, 'contracts'>;
  readonly reads: Pick<ChainReads, 'views' | 'simulate'>;
  /** Milliseconds, not going back. */
  readonly now: () => number;
}

/** Reads how a market can be resolved, most of them at most every ten seconds per chain. Throws ChainUnavailable. */
export function createResolutionOptionsReader(parts: ResolutionOptionsParts): (market: UnresolvedMarket) => Promise<ResolutionOptions> {
  const { reads, now } = parts;
  /** Markets' own bonds, which never change. */
  const ownBonds = new Map<string, bigint>();
  let kept: { readonly sinceMs: number; readonly terms: Promise<Terms> } | undefined;

  function terms(): Promise<Terms> {
    if (kept === undefined || now() - kept.sinceMs >= KEPT_MS) kept = { sinceMs: now(), terms: readTerms(parts) };
    return kept.terms;
  }

  async function ownBondOf(to: string): Promise<bigint | undefined> {
    const known = ownBonds.get(to);
    if (known !== undefined) return known;
    const [bond] = await reads.views([{ abi: 'market', to, method: 'bond', args: [] }], 'latest');
    if (typeof bond !== 'bigint') return undefined;
    ownBonds.set(to, bond);
    return bond;
  }

  return async ({ contractAddress, kind, expiration }) => {
    const known = await terms();
    const delayS = known.halveDelayS[kind];
    const halvable = delayS === undefined ? {} : { halvableFromS: expiration + delayS };
    const ownBond = kind === 'standard' ? await ownBondOf(contractAddress) : undefined;
    return ownBond === undefined ? halvable : { proposal: proposalWith(ownBond, known), ...halvable };
  };
}

/** A resolver that can halve also follows the oracle's minimum: both came with one version. */
function proposalWith(ownBond: bigint, { minimumBond = 0n, refusal, halveDelayS }: Terms): NonNullable<ResolutionOptions['proposal']> {
  if (halveDelayS.standard !== undefined) return { bond: ownBond > minimumBond ? ownBond : minimumBond, refusal };
  const tooLow = ownBond < minimumBond ? `the oracle's least bond is ${minimumBond}, and this market's is ${ownBond} for good` : undefined;
  return { bond: ownBond, refusal: refusal ?? tooLow };
}

async function readTerms({ chain: { contracts }, reads }: ResolutionOptionsParts): Promise<Terms> {
  const { oracle, oracleResolver, quickResolver, collateral } = contracts;
  const [minimumBond, identifier, disputeWindow = 0n, standard, quick] = await reads.views([
    { abi: 'oracle', to: oracle, method: 'getMinimumBond', args: [collateral] }, { abi: 'oracle', to: oracle, method: 'defaultIdentifier', args: [] },
    ...(['disputeWindow', 'HALVE_DELAY'] as const).map((method): ContractCall => ({ abi: 'oracleResolver', to: oracleResolver, method, args: [] })),
    { abi: 'quickResolver', to: quickResolver, method: 'PRICELESS_DELAY', args: [] },
  ], 'latest') as (bigint | string | undefined)[];
  const halveDelayS = { standard: secondsOf(standard), quick: secondsOf(quick) };
  if (typeof minimumBond !== 'bigint' || identifier === undefined) {
    return { minimumBond: undefined, refusal: 'the oracle does not answer', halveDelayS };
  }
  return {
    minimumBond, refusal: await refusalOf({ bond: minimumBond, identifier, disputeWindow }, contracts, reads),
    halveDelayS,
  };
}

/**
 * Why an assertion with the least bond is refused, apart from the bond itself, which the resolver does not have: the
 * oracle looks at identifier, currency and amount before it takes the bond. A transfer of nothing shows whether the
 * collateral refuses the oracle.
 */
async function refusalOf(
  { bond, identifier, disputeWindow }: {
    readonly bond: bigint;
    readonly identifier: unknown;
    readonly disputeWindow: unknown;
  },
  { oracle, oracleResolver, collateral }: Chain['contracts'], reads: Pick<ChainReads, 'simulate'>,
): Promise<string | undefined> {
  const transfer = (value: bigint) => reads.simulate({
    from: oracle, to: collateral, gasLimit: SIMULATED_GAS,
    data: encodeCall({ abi: 'collateral', method: 'transferFrom', args: [oracleResolver, oracle, value] }),
  });
  const assertion = encodeCall({
    abi: 'oracle', method: 'assertTruth',
    args: ['0x', oracleResolver, oracleResolver, ZERO_ADDRESS, disputeWindow, collateral, bond, identifier, ZERO_WORD],
  });
  const [nothing, unpaid, asserted] = await Promise.all([
    transfer(0n), transfer(bond),
    reads.simulate({ from: oracleResolver, to: oracle, data: assertion, gasLimit: SIMULATED_GAS }),
  ]);
  if ('reverted' in nothing) return `the stablecoin refuses the oracle: ${nothing.reverted}`.slice(0, MAX_REFUSAL);
  if (!('reverted' in asserted) || ('reverted' in unpaid && asserted.reverted === unpaid.reverted)) return undefined;
  return `the oracle refuses assertions: ${asserted.reverted}`.slice(0, MAX_REFUSAL);
}

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
const ZERO_WORD = `0x${'0'.repeat(64)}`;

function secondsOf(value: unknown): number | undefined {
  return typeof value === 'bigint' ? Number(value) : undefined;
}

/** The chains whose markets are asked for. */
export interface ChainsOfMarkets {
  readonly chains: ReadonlyMap<number, Pick<ChainAccess, 'chain' | 'clientRpc'>>;
  /** Milliseconds, not going back. */
  readonly monotonic: () => number;
  /** The answer does not wait longer for a chain: the history's part is worth more than the rest. */
  readonly chainWithinMs?: number;
}

const CHAIN_WITHIN_MS = 2_000;

/**
 * Resolves with undefined where the chain is not configured, does not answer or has any other fault: problems of nodes
 * are told elsewhere.
 */
export function createResolutionOptions(
  { chains, monotonic: now, chainWithinMs = CHAIN_WITHIN_MS }: ChainsOfMarkets,
): (market: UnresolvedMarket & { readonly chainId: number }) => Promise<ResolutionOptions | undefined> {
  const readers = new Map([...chains].map(([chainId, { chain, clientRpc }]) => [
    chainId, createResolutionOptionsReader({ chain, reads: createChainReads(chain, clientRpc), now })]));
  return async ({ chainId, ...market }) => {
    const resolutionOptions = readers.get(chainId)?.(market).catch(() => undefined);
    return resolutionOptions === undefined ? undefined : within(resolutionOptions, chainWithinMs);
  };
}
