/**
 * Decides which jobs to look at, which requests to forget, and what an operator is told. Does no input or output, so
 * the same sequence of calls always gives the same decisions. It does not remember what was requested of the lane: the
 * outbox lists that.
 */
import { recordId } from '../../engine/run/new-record.js';
import type { Report } from '../../engine/report.js';
import { backoffMs, type Backoff } from '../../engine/waiting.js';
import type { LaneRequest, TrackedRequest } from '../lane/requests.js';
import { isOver, isRecorded } from './lane-rounds.js';

/** Something that one transaction is to do. */
export interface Job {
  /** Names the job among all of its user, in every process alike. The notes of its requests tell it. */
  readonly key: string;
  /** As an operator is told of it: `creating the quick market of BTC`. */
  readonly title: string;
  /** When the job is due, by the chain's time in seconds; absent: at once. */
  readonly dueAtS?: number;
  /**
   * From when on the job has waited for too long, by the chain's time in seconds, and how an operator is told: `it has
   * waited …: REASON …`.
   */
  readonly overdue?: { readonly atS: number; readonly waited: string; readonly advice?: string };
}

/** The transaction of a job. Its note tells the job's key. */
export type JobTransaction = Omit<LaneRequest, 'id'>;

/** What a look at the chain has found. */
export type Finding
  /** The transaction would do the job in the next block. `announcement` is reported when it was requested. */
  = | { readonly kind: 'ready'; readonly transaction: JobTransaction; readonly announcement?: string }
    /** The chain has the result, and the history will. */
    | { readonly kind: 'done' }
    /** Not now, and that is no fault. With `isReported` an operator is told once. */
    | { readonly kind: 'waits'; readonly reason: string; readonly isReported?: boolean }
    /** The contracts refuse it; the reason says which one. */
    | { readonly kind: 'refused'; readonly reason: string };

/** What an operator is told. */
export interface JobReport {
  readonly level: Parameters<Report>[0];
  readonly text: string;
}

export interface JobRules {
  /** When to look again at a job that waits, in milliseconds. */
  readonly againMs: number;
  /** The pauses after the contracts have refused, and after a transaction that did not do the job. */
  readonly backoff: Backoff;
  /** The most looks per round. */
  readonly looks: number;
}

export interface JobListOptions {
  readonly chainId: number;
  /** Begins the ids of requests: in the outboxes of running systems, so it never changes. */
  readonly name: string;
  /** The key of a request's job; undefined for a note that is not this user's. */
  readonly keyOf: (note: unknown) => string | undefined;
  readonly rules: JobRules;
}

/** What a round starts from. */
export interface RoundState<J extends Job> {
  /** Most urgent first. */
  readonly jobs: readonly J[];
  /** All requests that the outbox lists, oldest first. */
  readonly requests: readonly TrackedRequest[];
  /** The history had every fact of the blocks below this one before the jobs were read. */
  readonly nextBlock: number;
  /** The chain's time in seconds. */
  readonly timeS: number;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

export interface JobCounts {
  /** Jobs whose time has come. */
  readonly due: number;
  readonly overdue: number;
  /** Jobs that the contracts refused at the last look. */
  readonly refused: number;
}

interface Memory {
  readonly notBeforeMs: number;
  /** How often in a row the contracts have refused. */
  readonly refusals: number;
  /** Why the job waits; undefined before the first look. */
  readonly reason: string | undefined;
  readonly reported: ReadonlySet<string>;
}

const NO_MEMORY: Memory = { notBeforeMs: 0, refusals: 0, reason: undefined, reported: new Set() };

export class JobList<J extends Job> {
  readonly #memory = new Map<string, Memory>();
  #counts: JobCounts = { due: 0, overdue: 0, refused: 0 };

  constructor(private readonly options: JobListOptions) {}

  counts(): JobCounts {
    return this.#counts;
  }

  /** The ids of requests that are over and whose jobs are, too. */
  forgettable({ jobs, requests }: Pick<RoundState<J>, 'jobs' | 'requests'>): readonly string[] {
    const open = new Set(jobs.map(({ key }) => key));
    return requests
      .filter(({ note, status }) => isOver(status) && !open.has(this.options.keyOf(note) ?? ''))
      .map(({ id }) => id);
  }

  /**
   * The lane's id of the next request for a job: the same in every process and after every restart, so that it is sent
   * once. After a request that did not do the job it is another one, since the outbox lists requests until their job is
   * over.
   */
  nextRequestId(job: J, requests: readonly TrackedRequest[]): string {
    const { name, chainId } = this.options;
    return recordId(`${name}:${chainId}:${job.key}:${this.#requestsOf(job, requests).length}`);
  }

  /** The jobs to look at now, and what to report. Forgets all jobs that are not given. */
  begin(
    { jobs, requests, nextBlock, timeS, nowMs }: RoundState<J>,
  ): { readonly looks: readonly J[]; readonly messages: readonly JobReport[] } {
    const { rules } = this.options;
    const keys = new Set(jobs.map(({ key }) => key));
    for (const key of this.#memory.keys()) if (!keys.has(key)) this.#memory.delete(key);
    const due = jobs.filter(({ dueAtS }) => dueAtS === undefined || timeS >= dueAtS);
    const overdue = jobs.filter((job) => job.overdue !== undefined && timeS >= job.overdue.atS);
    const refused = jobs.filter(({ key }) => this.#of(key).refusals > 0);
    this.#counts = { due: due.length, overdue: overdue.length, refused: refused.length };
    const messages = [
      ...jobs.flatMap((job) => this.#failedRequests(job, this.#requestsOf(job, requests))),
      ...overdue.flatMap((job) => this.#waitsForLong(job, this.#requestsOf(job, requests))),
    ];
    const looks = due.filter((job) => nowMs >= this.#of(job.key).notBeforeMs
      && mayRequest(this.#requestsOf(job, requests), { nextBlock, nowMs, backoff: rules.backoff }));
    return { looks: looks.slice(0, rules.looks), messages };
  }

  /**
   * Takes a finding and returns what to report. When to look again follows from it. A job that is `ready` is to be
   * requested.
   */
  found(job: J, finding: Finding, nowMs: number): readonly JobReport[] {
    const { rules } = this.options;
    const memory = this.#of(job.key);
    const waits = (reason: string) => {
      this.#memory.set(job.key, { ...memory, notBeforeMs: nowMs + rules.againMs, reason });
    };
    switch (finding.kind) {
      case 'ready':
        this.#memory.set(job.key, { ...memory, refusals: 0 });
        return [];
      case 'done':
        waits('the chain has it, and the history has not heard of that');
        return [];
      case 'waits':
        waits(finding.reason);
        return finding.isReported === true ? this.#once(job, 'info', finding.reason) : [];
      case 'refused': {
        const { reason } = finding;
        const refusals = memory.refusals + 1;
        const notBeforeMs = nowMs + backoffMs(refusals, rules.backoff);
        this.#memory.set(job.key, { ...memory, refusals, notBeforeMs, reason });
        return this.#once(job, 'alert', `${reason}. Nothing is sent; it is tried again with growing pauses`);
      }
    }
  }

  /** Reports each request that did not do the job, once. */
  #failedRequests(job: J, requests: readonly TrackedRequest[]): readonly JobReport[] {
    return requests.flatMap(({ id, status }) => {
      const once = (level: JobReport['level'], text: string) => this.#once(job, level, text);
      if (status.kind === 'refused') return once('alert', `the lane has refused request ${id}: ${status.reason}`);
      if (status.kind !== 'ended') return [];
      const { ending } = status;
      if (ending.kind === 'lost') return once('warn', `another transaction used the nonce of request ${id}`);
      if (ending.succeeded) return [];
      return once('warn', `transaction ${ending.txHash} reverted: somebody else may have been first`);
    });
  }

  /** Nothing before the first look, which is the first to know why. */
  #waitsForLong(job: J, requests: readonly TrackedRequest[]): readonly JobReport[] {
    const last = requests.at(-1)?.status;
    const reason = last !== undefined && !isOver(last) ? 'its transaction is on its way' : this.#of(job.key).reason;
    if (job.overdue === undefined || reason === undefined) return [];
    const { waited, advice } = job.overdue;
    const text = `it has waited ${waited}: ${reason}${advice === undefined ? '' : `. ${advice}`}`;
    return this.#once(job, 'alert', text, 'waits for long');
  }

  /** The message, once per job and topic. */
  #once({ key, title }: J, level: JobReport['level'], text: string, topic = text): readonly JobReport[] {
    const memory = this.#of(key);
    if (memory.reported.has(topic)) return [];
    this.#memory.set(key, { ...memory, reported: new Set([...memory.reported, topic]) });
    return [{ level, text: `chain ${this.options.chainId}, ${title}: ${text}` }];
  }

  /** The requests for a job, oldest first. */
  #requestsOf({ key }: J, requests: readonly TrackedRequest[]): readonly TrackedRequest[] {
    return requests.filter(({ note }) => this.options.keyOf(note) === key);
  }

  #of(key: string): Memory {
    return this.#memory.get(key) ?? NO_MEMORY;
  }
}

/**
 * Whether a request may follow the earlier ones for the same job: the history has the last one's block, and the pause
 * after it is over.
 */
function mayRequest(
  earlier: readonly TrackedRequest[],
  { nextBlock, nowMs, backoff }: { nextBlock: number; nowMs: number; backoff: Backoff },
): boolean {
  const last = earlier.at(-1);
  return last === undefined
    || (isRecorded(last.status, nextBlock) && nowMs >= last.askedAtMs + backoffMs(earlier.length, backoff));
}
