/**
 * Creates the quick markets of a chain ahead of time and resolves those that the engine has decided, through the lane. Of the processes with the
 * chain's key for it one does. What it asks for has no record in the history: the chain's facts tell what came of it.
 */
import { encodeCall, type ContractCall } from '../chain/abi.js';
import type { Chain } from '../chain/chain.js';
import { lackOf, timeOfNextBlock, type ChainReads } from '../chain/chain-reads.js';
import type { Report } from '../../engine/report.js';
import { tell } from '../rounds/docket.js';
import { runLaneRounds, type HeldRequests, type RoundsStatus } from '../rounds/lane-rounds.js';
import type { LaneUser } from '../lane/requests.js';
import type { Keccak256 } from '../signing/keccak.js';
import type { QuickMarket } from '../../engine/run/view.js';
import {
  Agenda, forgettable, requestIdOf, type AgendaRules, type AgendaStatus, type CreateJob, type Finding, type Job, type QuickNote,
} from './agenda.js';
import { idsOf, wantedTerms, type Schedule, type Terms } from './terms.js';

export interface QuickMarketsOptions {
  readonly chain: Pick<Chain, 'chainId' | 'contracts'>;
  readonly reads: Pick<ChainReads, 'views' | 'simulate' | 'funds'>;
  readonly keccak256: Keccak256;
  /** The lane's user with purpose `quick_market`. */
  readonly lane: LaneUser;
  readonly view: QuickView;
  /** Resolves when the chain is still the one that the history recorded. Awaited before the lane is asked. Throws ChainUnavailable. */
  readonly verify: () => Promise<void>;
  /** The address of the key, lower-case. */
  readonly address: string;
  /** The most that the lane offers, in wei per unit of gas. */
  readonly maxFeePerGas: bigint;
  /** The markets to make; none without assets. */
  readonly schedule: Schedule;
  /** Whether the sources tell the price at the start of a market that has started: without it the market could not be resolved. */
  readonly hasStartPrice: (terms: Terms) => Promise<boolean>;
  readonly rules: AgendaRules;
  /** How often to look, in milliseconds. */
  readonly pollMs: number;
  /** The trusted time in milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Why the clock is not trusted; no market is created then. */
  readonly doubt: () => string | undefined;
  readonly signal: AbortSignal;
  readonly report: Report;
}

/** What is read of the history. */
export interface QuickView {
  isKnown(marketId: string): boolean;
  /** The quick markets that the chain has not resolved, in the order of opening. */
  unresolved(): Iterable<QuickMarket>;
  /** The history has every fact of the blocks below this one. */
  nextBlock(): number;
}

export type QuickMarketsStatus = AgendaStatus & RoundsStatus;

export interface QuickMarkets {
  /** Resolves when all has ended. Only `signal` ends it. */
  readonly done: Promise<void>;
  status(): QuickMarketsStatus;
}

/** More than twice what the project's contracts need (docs/prices.md, "Quick markets"). Unused gas is not paid for. */
export const CREATE_GAS = 800_000n;
export const RESOLVE_GAS = 300_000n;

/** Starts it. Every failure is reported and retried with growing pauses. */
export function runQuickMarkets(options: QuickMarketsOptions): QuickMarkets {
  const { chain: { chainId }, lane, pollMs, now, signal, report, rules } = options;
  const agenda = new Agenda(chainId, rules);
  const work = new QuickRound(options, agenda);
  const rounds = runLaneRounds({
    lane, pollMs, now, signal, report, who: `chain ${chainId}: the quick markets' sender`, round: (requests) => work.round(requests),
  });
  return { done: rounds.done, status: () => ({ ...agenda.status(), ...rounds.status() }) };
}

class QuickRound {
  /** The key has been seen to have its roles. */
  private equipped = false;

  constructor(private readonly options: QuickMarketsOptions, private readonly agenda: Agenda) {}

  async round(requests: HeldRequests): Promise<void> {
    const { view, now, doubt, chain, reads, schedule, keccak256 } = this.options;
    if (!this.equipped) await this.checkRoles();
    const naming = { keccak256, chainId: chain.chainId, quickResolver: chain.contracts.quickResolver };
    const terms = doubt() === undefined ? wantedTerms(schedule, now()) : [];
    const wanted = terms.map((each) => ({ ...each, ...idsOf(each, naming) }));
    const isKnown = (marketId: string): boolean => view.isKnown(marketId);
    // Read in one turn: a result that the history has at `nextBlock` is not missing in `unresolved`, or it would be asked for twice.
    const [unresolved, nextBlock] = [[...view.unresolved()], view.nextBlock()];
    await requests.forget(forgettable({ wanted, isKnown, unresolved, requests: requests.list() }));
    // While nothing is decided the chain is not asked for its time.
    const timeS = unresolved.some(({ quick }) => quick.outcome !== undefined) ? await timeOfNextBlock(reads, chain) : 0;
    const { jobs, told } = this.agenda.begin({
      wanted, isKnown, unresolved, requests: requests.list(), nextBlock, timeS, nowMs: now(),
    });
    tell(told, this.options.report);
    for (const job of jobs) {
      if (this.options.signal.aborted) return;
      const { finding, call } = await this.look(job);
      tell(this.agenda.saw(job, finding, now()), this.options.report);
      if (finding.kind === 'refused') this.equipped = false;
      if (finding.kind === 'ready') await this.ask(requests, job, call);
    }
  }

  private async checkRoles(): Promise<void> {
    const { chain: { contracts: { marketFactory, quickResolver } }, reads, address } = this.options;
    const needed = [['marketFactory', marketFactory, 'CREATOR_ROLE'], ['quickResolver', quickResolver, 'OPERATOR_ROLE']] as const;
    const roles = await reads.views(needed.map(([abi, to, role]) => ({ abi, to, method: role, args: [] })), 'latest');
    const has = await reads.views(needed.map(([abi, to], i) => ({ abi, to, method: 'hasRole', args: [roles[i], address] })), 'latest');
    const missing = needed.filter((_, i) => has[i] !== true).map(([, to, role]) => `${role} at ${to}`);
    if (missing.length > 0) throw new Error(`the key ${address} lacks ${missing.join(' and ')}: the contracts' administrator can grant it`);
    this.equipped = true;
  }

  /** Asks the chain whether it has the result already, and if not, what the transaction would do in the next block. */
  private async look(job: Job): Promise<{ finding: Finding; call: ContractCall }> {
    const { chain: { contracts: { marketFactory, conditionalTokens, quickResolver } }, reads, address: from } = this.options;
    const [market, denominator] = await reads.views([
      { abi: 'marketFactory', to: marketFactory, method: 'marketOf', args: [job.marketId] },
      { abi: 'conditionalTokens', to: conditionalTokens, method: 'payoutDenominator', args: [job.marketId] },
    ], 'pending');
    const call: ContractCall = job.kind === 'create'
      ? { abi: 'marketFactory', to: marketFactory, method: 'createQuickMarket', args: [job.questionId, job.asset, job.startTime, job.endTime] }
      : {
          abi: 'quickResolver', to: quickResolver, method: 'resolve',
          args: [market, job.startPrice, job.startPublishedS, job.endPrice, job.endPublishedS],
        };
    const isDone = job.kind === 'create' ? BigInt(String(market)) !== 0n : denominator !== 0n;
    if (isDone) return { finding: { kind: 'done' }, call };
    if (job.kind === 'create' && !await this.canStart(job)) {
      return { finding: { kind: 'waits', reason: 'it has started, and no source tells its first price' }, call };
    }
    const answer = await reads.simulate({ from, to: call.to, data: encodeCall(call), gasLimit: gasOf(job) });
    return { finding: 'returned' in answer ? { kind: 'ready' } : { kind: 'refused', reason: answer.reverted }, call };
  }

  private async canStart(job: CreateJob): Promise<boolean> {
    return !job.late || await this.options.hasStartPrice(job);
  }

  private async ask(requests: HeldRequests, job: Job, call: ContractCall): Promise<void> {
    const { chain: { chainId }, reads, address, maxFeePerGas, verify } = this.options;
    const gasLimit = gasOf(job);
    const lack = lackOf(await reads.funds(address), { chainId, address, whose: 'the prices role', maxFeePerGas, gasLimit });
    if (lack !== undefined) throw new Error(lack);
    await verify();
    const note: QuickNote = { kind: job.kind, marketId: job.marketId };
    // What is decided pays people: it goes before markets that only begin.
    const priority = job.kind === 'resolve' ? 1 : 0;
    await requests.ask({ id: requestIdOf(chainId, job, requests.list()), to: call.to, data: encodeCall(call), gasLimit, note, priority });
  }
}

function gasOf({ kind }: Job): bigint {
  return kind === 'create' ? CREATE_GAS : RESOLVE_GAS;
}
