/**
 * The keeper of a chain settles at the oracle what nobody else has settled after a proposal's dispute window or its
 * arbitration.
 */
import { encodeCall, type ContractCall } from '../chain/abi.js';
import type { Finding, Job, JobRules, JobReport } from '../jobs/job-list.js';
import { runJobs, type JobOptions, type JobRunner, type JobSource } from '../jobs/job-runner.js';

/** A proposed resolution that counts, as the history has it. */
export interface Proposal {
  readonly marketId: string;
  readonly assertionId: string;
  /** When its dispute window ends, in seconds since the Unix epoch. */
  readonly expirationTime: number;
  readonly disputed: boolean;
}

/** A closed standard market that is neither resolved nor proposed. */
export interface UnproposedMarket {
  readonly marketId: string;
  /** Unix seconds. */
  readonly expiration: number;
}

/** What the keeper reads of the history. */
export interface KeeperView {
  /** The chain's proposals that count, oldest first. */
  proposals(): Iterable<Proposal>;
  unproposed(): Iterable<UnproposedMarket>;
  /** The history has every fact of the blocks below this one. */
  nextBlock(): number;
}

export interface KeeperRules extends JobRules {
  /** How long after the dispute window's end others may settle first, in seconds. */
  readonly graceS: number;
  /** After this time since the dispute window's end a market has waited for too long, in seconds. */
  readonly longS: number;
}

/** After seven days the resolver's administrator can abandon a proposal that the oracle does not settle. */
export const KEEPER_RULES: KeeperRules = {
  graceS: 60, againMs: 60_000, backoff: { firstMs: 60_000, longestMs: 3_600_000 }, longS: 7 * 86_400, looks: 20,
};

export interface KeeperOptions extends JobOptions {
  readonly view: KeeperView;
  /** The address of the relayer's key, lower-case. */
  readonly relayer: string;
  readonly rules: KeeperRules;
}

/** `due`: proposals that others may not settle first any more. `overdue`: those that have waited for too long. */
export type Keeper = JobRunner;
export type KeeperStatus = ReturnType<Keeper['status']>;

/**
 * Several times what the project's oracle needs (docs/performance.md, "Gas"): another oracle may need more. Unused gas
 * is not paid for.
 */
export const KEEPER_GAS = 600_000n;
/** Before users' requests, which the same key sends: what the keeper settles pays everybody in the market. */
const PRIORITY = 1;

/** Starts the keeper. `lane` has the purpose `keeper`. */
export function runKeeper(options: KeeperOptions): Keeper {
  return runJobs(keeperJobs(options), { ...options, nextBlock: () => options.view.nextBlock() });
}

export type KeeperJob = Job & Pick<Proposal, 'marketId' | 'disputed'>;

export type KeeperJobsOptions = Pick<KeeperOptions, 'chain' | 'reads' | 'view' | 'relayer' | 'rules' | 'now'>;

export function keeperJobs(options: KeeperJobsOptions): JobSource<KeeperJob> {
  const { chain: { chainId, contracts: { oracle } }, reads, view, relayer, rules, now } = options;
  const halvable = halvableMarkets(chainId);
  const onOracle = (method: string, assertionId: string): ContractCall => (
    { abi: 'oracle', to: oracle, method, args: [assertionId] });

  async function look({ key: assertionId, marketId, disputed }: KeeperJob): Promise<Finding> {
    const [found] = await reads.views([onOracle('getAssertion', assertionId)], 'pending');
    const assertion = found as { readonly settled: boolean; readonly disputer: string } | undefined;
    if (assertion?.settled === true) return { kind: 'done' };
    const call = { to: oracle, data: encodeCall(onOracle('settleAssertion', assertionId)), gasLimit: KEEPER_GAS };
    const answer = await reads.simulate({ from: relayer, ...call });
    if ('returned' in answer) {
      const announcement = `nobody has settled assertion ${assertionId} of market ${marketId}: the keeper does`;
      return { kind: 'ready', transaction: { ...call, note: { assertionId }, priority: PRIORITY }, announcement };
    }
    // The history may not have heard of the dispute.
    return disputed || (assertion !== undefined && BigInt(assertion.disputer) !== 0n)
      ? { kind: 'waits', reason: `it is disputed, and the oracle has not decided: ${answer.reverted}` }
      : { kind: 'refused', reason: `the oracle refuses to settle it: ${answer.reverted}` };
  }

  return {
    chainId, name: 'keeper', who: 'the keeper', whose: 'the relayer', address: relayer, rules, look, keyOf: assertionOf,
    jobs: () => [...view.proposals()].map((proposal) => jobOf(proposal, rules)),
    messages: () => halvable(view.unproposed(), now()),
  };
}

function jobOf(proposal: Proposal, { graceS, longS }: KeeperRules): KeeperJob {
  const { marketId, assertionId, expirationTime, disputed } = proposal;
  const overdue = {
    atS: expirationTime + longS, waited: `for ${Math.floor(longS / 86_400)} days since its dispute window`,
    advice: 'If the oracle cannot settle it, the resolver\'s administrator can abandon it',
  };
  return {
    key: assertionId, title: `assertion ${assertionId} of market ${marketId}`, marketId, disputed, overdue,
    dueAtS: disputed ? 0 : expirationTime + graceS,
  };
}

/** The assertion that a request settles; undefined when the note is not a keeper's. */
function assertionOf(note: unknown): string | undefined {
  if (typeof note !== 'object' || note === null) return undefined;
  const { assertionId } = note as { readonly assertionId?: unknown };
  return typeof assertionId === 'string' ? assertionId : undefined;
}

/**
 * After thirty days the resolver's administrator can halve a market that nobody has proposed (HALVE_DELAY of
 * OracleResolver).
 */
const HALVABLE_S = 30 * 86_400;
/** Markets that are named in one alert. */
const MAX_NAMED = 10;

/**
 * Returns a function that reports the markets that have become halvable since its last call: each once, together in one
 * alert.
 */
export function halvableMarkets(
  chainId: number,
): (unproposed: Iterable<UnproposedMarket>, nowMs: number) => readonly JobReport[] {
  let before: ReadonlySet<string> = new Set();
  return (unproposed, nowMs) => {
    const halvable = [...unproposed].filter(({ expiration }) => nowMs / 1_000 >= expiration + HALVABLE_S)
      .map(({ marketId }) => marketId);
    const fresh = halvable.filter((marketId) => !before.has(marketId));
    before = new Set(halvable);
    if (fresh.length === 0) return [];
    const more = fresh.length > MAX_NAMED ? ` and ${fresh.length - MAX_NAMED} more` : '';
    const named = `${fresh.slice(0, MAX_NAMED).join(', ')}${more}`;
    return [{
      level: 'alert',
      text: `chain ${chainId}: nobody has proposed an outcome for 30 days since the expiration of ${named}. `
        + '/api/v1/resolution says why; the resolver\'s administrator can halve such a market',
    }];
  };
}
