/** Creates the quick markets of a chain ahead of time, and resolves those that the engine has decided. */
import type { QuickMarket } from '../../engine/run/view.js';
import { encodeCall, type ContractCall } from '../chain/abi.js';
import type { Finding } from '../jobs/job-list.js';
import { runJobs, type JobOptions, type JobRunner, type JobSource } from '../jobs/job-runner.js';
import type { RoundsStatus } from '../jobs/lane-rounds.js';
import type { Keccak256 } from '../signing/typed-data.js';
import {
  createJob, keyOfNote, missedPrices, resolveJobs, type QuickJob, type QuickNote, type QuickRules,
} from './quick-jobs.js';
import { idsOf, scheduledTerms, type Schedule, type QuickMarketTerms } from './terms.js';

export interface QuickMarketsOptions extends JobOptions {
  readonly keccak256: Keccak256;
  readonly view: QuickView;
  /** The address of the key, lower-case. */
  readonly address: string;
  /** The markets to make; none without assets. */
  readonly schedule: Schedule;
  /**
   * Whether the sources tell the price at the start of a market that has started: without it the market could not be
   * resolved.
   */
  readonly hasStartPrice: (terms: QuickMarketTerms) => Promise<boolean>;
  readonly rules: QuickRules;
  /** Why the clock is not trusted; no market is created then. */
  readonly doubt: () => string | undefined;
}

/** What is read of the history. */
export interface QuickView {
  isKnown(marketId: string): boolean;
  /** The quick markets that the chain has not resolved, in the order of opening. */
  unresolved(): Iterable<QuickMarket>;
  /** The history has every fact of the blocks below this one. */
  nextBlock(): number;
}

export interface QuickMarketsStatus extends RoundsStatus {
  /** Markets that there should be and are not. */
  readonly missing: number;
  /** Decided markets that are not resolved. */
  readonly decided: number;
  /**
   * Markets that lack a price that did not come in time: they cannot be resolved until it does, or an administrator
   * halves them.
   */
  readonly unresolvable: number;
  /** Jobs that the contract refused last. */
  readonly refused: number;
}

export interface QuickMarkets extends Pick<JobRunner, 'done'> {
  status(): QuickMarketsStatus;
}

/** More than twice what the project's contracts need (docs/prices.md, "Quick markets"). Unused gas is not paid for. */
export const CREATE_GAS = 800_000n;
export const RESOLVE_GAS = 300_000n;

/** Starts the work. `lane` has the purpose `quick_market`. */
export function runQuickMarkets(options: QuickMarketsOptions): QuickMarkets {
  const source = quickJobs(options);
  const { done, status } = runJobs(source, { ...options, nextBlock: () => options.view.nextBlock() });
  return {
    done,
    status() {
      const { holds, problem, refused } = status();
      return { ...source.counts(), refused, holds, problem };
    },
  };
}

export type QuickSource = JobSource<QuickJob>
  & { counts(): Pick<QuickMarketsStatus, 'missing' | 'decided' | 'unresolvable'> };

export type QuickJobsOptions = Pick<
  QuickMarketsOptions,
  'chain' | 'reads' | 'keccak256' | 'view' | 'address' | 'schedule' | 'hasStartPrice' | 'rules' | 'now' | 'doubt'
>;

export function quickJobs(options: QuickJobsOptions): QuickSource {
  const { chain: { chainId, contracts }, reads, keccak256, view, address, schedule, hasStartPrice, rules } = options;
  const { now, doubt } = options;
  const { marketFactory, conditionalTokens, quickResolver } = contracts;
  const missed = missedPrices(chainId, rules);
  let counts = { missing: 0, decided: 0, unresolvable: 0 };
  /** Whether the key has been seen to have its roles. */
  let isAuthorised = false;

  async function check(): Promise<void> {
    if (isAuthorised) return;
    const missing = await missingRoles(reads, { address, marketFactory, quickResolver });
    if (missing.length > 0) {
      throw new Error(`the key ${address} lacks ${missing.join(' and ')}: the contracts' administrator can grant it`);
    }
    isAuthorised = true;
  }

  function jobs(): readonly QuickJob[] {
    const scheduled = doubt() === undefined ? scheduledTerms(schedule, now()) : [];
    const creates = scheduled
      .map((terms) => createJob({ ...terms, ...idsOf(terms, { keccak256, chainId, quickResolver }) }, now()))
      .filter(({ marketId }) => !view.isKnown(marketId));
    const unresolved = [...view.unresolved()];
    const resolves = resolveJobs(unresolved, rules);
    counts = {
      missing: creates.length, decided: resolves.length,
      unresolvable: unresolved.filter(({ quick }) => quick.missed.size > 0).length,
    };
    return [...resolves, ...creates];
  }

  function callFor(job: QuickJob, market: unknown): ContractCall {
    if (job.kind === 'create') {
      const { questionId, asset, startTime, endTime } = job;
      const args = [questionId, asset, startTime, endTime];
      return { abi: 'marketFactory', to: marketFactory, method: 'createQuickMarket', args };
    }
    const { startPrice, startPublishedS, endPrice, endPublishedS } = job;
    const args = [market, startPrice, startPublishedS, endPrice, endPublishedS];
    return { abi: 'quickResolver', to: quickResolver, method: 'resolve', args };
  }

  async function look(job: QuickJob): Promise<Finding> {
    const { kind, marketId } = job;
    const [market, denominator] = await reads.views([
      { abi: 'marketFactory', to: marketFactory, method: 'marketOf', args: [marketId] },
      { abi: 'conditionalTokens', to: conditionalTokens, method: 'payoutDenominator', args: [marketId] },
    ], 'pending');
    if (kind === 'create' ? BigInt(String(market)) !== 0n : denominator !== 0n) return { kind: 'done' };
    if (kind === 'create' && job.isLate && !await hasStartPrice(job)) {
      return { kind: 'waits', reason: 'it has started, and no source tells its first price', isReported: true };
    }
    const call = callFor(job, market);
    const transaction = { to: call.to, data: encodeCall(call), gasLimit: kind === 'create' ? CREATE_GAS : RESOLVE_GAS };
    const answer = await reads.simulate({ from: address, ...transaction });
    const note: QuickNote = { kind, marketId };
    // What is decided pays people: it goes before markets that only begin.
    const priority = kind === 'resolve' ? 1 : 0;
    if ('returned' in answer) return { kind: 'ready', transaction: { ...transaction, note, priority } };
    isAuthorised = false;
    return { kind: 'refused', reason: `the contract refuses it: ${answer.reverted}` };
  }

  return {
    chainId, name: 'quick', who: 'the quick markets\' sender', whose: 'the prices role', address, rules,
    check, jobs, look, keyOf: keyOfNote, messages: () => missed(view.unresolved(), now()), counts: () => counts,
  };
}

/** The roles at the contracts that the key needs and does not have. */
async function missingRoles(
  reads: QuickMarketsOptions['reads'],
  { address, marketFactory, quickResolver }: {
    readonly address: string;
    readonly marketFactory: string;
    readonly quickResolver: string;
  },
): Promise<readonly string[]> {
  const needed = [
    ['marketFactory', marketFactory, 'CREATOR_ROLE'], ['quickResolver', quickResolver, 'OPERATOR_ROLE'],
  ] as const;
  const roles = await reads.views(needed.map(([abi, to, role]) => ({ abi, to, method: role, args: [] })), 'latest');
  const calls = needed.map(([abi, to], i) => ({ abi, to, method: 'hasRole', args: [roles[i], address] }));
  const has = await reads.views(calls, 'latest');
  return needed.filter((_, i) => has[i] !== true).map(([, to, role]) => `${role} at ${to}`);
}
