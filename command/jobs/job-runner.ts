/**
 * Does jobs through a lane: what the history says is to be done, the chain does not have yet, and a transaction would
 * do. Of several processes one works. Requests have no record in the history: the chain's facts tell what came of them.
 */
import type { Report } from '../../engine/report.js';
import type { Chain } from '../chain/chain.js';
import { lackOf, timeOfNextBlock, type ChainReads } from '../chain/chain-reads.js';
import type { LaneUser } from '../lane/requests.js';
import {
  JobList, type Finding, type Job, type JobCounts, type JobListOptions, type JobTransaction, type JobReport,
} from './job-list.js';
import { startLaneRounds, type PurposeRequests, type RoundsStatus } from './lane-rounds.js';

/** What a user of the runner says of its jobs. */
export interface JobSource<J extends Job> extends JobListOptions {
  /** As reports name it: `the keeper`. */
  readonly who: string;
  /** Whose key sends, as an operator is told: `the relayer`. */
  readonly whose: string;
  /** The address of the key, lower-case. */
  readonly address: string;
  /** Awaited before each round. Throws while the key may not send. */
  readonly check?: () => Promise<void>;
  /** All jobs by the history as it is now, most urgent first. */
  readonly jobs: () => readonly J[];
  /** What to report besides, each time this is called. */
  readonly messages?: () => readonly JobReport[];
  /** Asks the chain whether it has the result, and if not, what the transaction would do in the next block. */
  readonly look: (job: J) => Promise<Finding>;
}

/** What all users of the runner need. */
export interface JobOptions {
  readonly chain: Pick<Chain, 'chainId' | 'contracts'>;
  readonly reads: Pick<ChainReads, 'views' | 'simulate' | 'funds'>;
  readonly lane: LaneUser;
  /**
   * Resolves when the chain is still the one that the history recorded. Awaited before a request. Throws
   * ChainUnavailable.
   */
  readonly verify: () => Promise<void>;
  /** The most that the lane offers, in wei per unit of gas. */
  readonly maxFeePerGas: bigint;
  /** The time between two rounds, in milliseconds. */
  readonly pollMs: number;
  /** The trusted time in milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly report: Report;
}

export interface JobRunner {
  /** Resolves when the runner has ended. Only the signal ends it. */
  readonly done: Promise<void>;
  status(): JobCounts & RoundsStatus;
}

/**
 * Starts the work. Every failure is reported and retried with growing pauses. `nextBlock`: the history has every fact
 * of the blocks below it.
 */
export function runJobs<J extends Job>(
  source: JobSource<J>, options: JobOptions & { readonly nextBlock: () => number },
): JobRunner {
  const { chain, reads, lane, verify, maxFeePerGas, pollMs, now, signal, report, nextBlock } = options;
  const { chainId } = chain;
  const { who, whose, address } = source;
  const list = new JobList<J>(source);
  const tell = (messages: readonly JobReport[]) => { for (const { level, text } of messages) report(level, text); };

  async function round(requests: PurposeRequests): Promise<void> {
    await requests.update();
    await source.check?.();
    // Read before the jobs: a result that the history has below this block is not missing in the jobs, or it would be
    // requested twice.
    const recordedBelow = nextBlock();
    const jobs = source.jobs();
    tell(source.messages?.() ?? []);
    await requests.forget(list.forgettable({ jobs, requests: requests.list() }));
    // While no job has a time the chain is not asked for its own.
    const timeS = jobs.some(({ dueAtS }) => dueAtS !== undefined) ? await timeOfNextBlock(reads, chain) : 0;
    const state = { jobs, requests: requests.list(), nextBlock: recordedBelow, timeS, nowMs: now() };
    const { looks, messages } = list.begin(state);
    tell(messages);
    for (const job of looks) {
      if (signal.aborted) return;
      const finding = await source.look(job);
      tell(list.found(job, finding, now()));
      if (finding.kind !== 'ready') continue;
      await send(requests, job, finding.transaction);
      if (finding.announcement !== undefined) report('info', `chain ${chainId}: ${finding.announcement}`);
    }
  }

  async function send(requests: PurposeRequests, job: J, transaction: JobTransaction): Promise<void> {
    const { gasLimit } = transaction;
    const lack = lackOf(await reads.funds(address), { chainId, address, whose, maxFeePerGas, gasLimit });
    if (lack !== undefined) throw new Error(lack);
    await verify();
    await requests.request({ id: list.nextRequestId(job, requests.list()), ...transaction });
  }

  const rounds = startLaneRounds({ lane, who: `chain ${chainId}: ${who}`, round, pollMs, now, signal, report });
  return { done: rounds.done, status: () => ({ ...list.counts(), ...rounds.status() }) };
}
