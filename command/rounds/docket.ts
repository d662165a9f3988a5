/** What a lane's user remembers of its jobs between rounds: when to look again, what holds a job up, and what an operator has been told. */
import { backoffMs, type Backoff } from '../../engine/waiting.js';
import type { Report } from '../../engine/report.js';
import type { TrackedRequest } from '../lane/requests.js';
import { mayTryAgain } from './lane-rounds.js';

/** What an operator is told. */
export interface Told {
  readonly level: 'note' | 'trouble' | 'alarm';
  readonly text: string;
}

/** What a look at the chain has found. */
export type Finding
  /** A transaction would do the job in the next block. */
  = | { readonly kind: 'ready' }
    /** Not now, and that is no fault; or it is done, and the history has not heard of that. */
    | { readonly kind: 'waits'; readonly reason: string }
    /** The contracts refuse it. */
    | { readonly kind: 'refused'; readonly reason: string };

/** Something that one transaction is to do. */
export interface Job {
  readonly key: string;
  /** As an operator is told of it: `chain 1, creating the quick market of BTC`. */
  readonly title: string;
}

export interface DocketRules {
  /** When to look again at what waits, in milliseconds. */
  readonly againMs: number;
  /** The pauses after the contracts have refused, and after a transaction that ended in vain. */
  readonly backoff: Backoff;
}

interface Memory {
  readonly notBeforeMs: number;
  /** How often in a row the contracts have refused. */
  readonly refusals: number;
  /** What holds the job up; undefined before the first look. */
  readonly reason: string | undefined;
  readonly told: ReadonlySet<string>;
}

const NOTHING: Memory = { notBeforeMs: 0, refusals: 0, reason: undefined, told: new Set() };

export class Docket {
  readonly #memory = new Map<string, Memory>();

  constructor(private readonly rules: DocketRules) {}

  /** Forgets all other jobs. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#memory.keys()) if (!keys.has(key)) this.#memory.delete(key);
  }

  /** `requests`: those for this job, in the order of asking. `nextBlock`: the history has every fact of the blocks below it. */
  mayLook(key: string, requests: readonly TrackedRequest[], { nextBlock, nowMs }: { readonly nextBlock: number; readonly nowMs: number }): boolean {
    return nowMs >= this.#of(key).notBeforeMs && mayTryAgain(requests, { nextBlock, nowMs, backoff: this.rules.backoff });
  }

  isRefused(key: string): boolean {
    return this.#of(key).refusals > 0;
  }

  /** Notes a finding: when to look again follows from it. */
  saw(key: string, finding: Finding, nowMs: number): void {
    const memory = this.#of(key);
    switch (finding.kind) {
      case 'ready':
        return this.#put(key, { ...memory, refusals: 0 });
      case 'waits':
        return this.#put(key, { ...memory, notBeforeMs: nowMs + this.rules.againMs, reason: finding.reason });
      case 'refused': {
        const refusals = memory.refusals + 1;
        return this.#put(key, { ...memory, refusals, notBeforeMs: nowMs + backoffMs(refusals, this.rules.backoff), reason: finding.reason });
      }
    }
  }

  /** What holds the job up; undefined before the first look. */
  holdUp(key: string, requests: readonly TrackedRequest[]): string | undefined {
    const last = requests.at(-1)?.status.kind;
    return last === 'waiting' || last === 'sent' ? 'its transaction is on its way' : this.#of(key).reason;
  }

  /** Told once of each request whose transaction has not done the job. */
  inVain(job: Job, requests: readonly TrackedRequest[]): readonly Told[] {
    return requests.flatMap(({ id, status }) => {
      if (status.kind === 'refused') return this.once(job, 'alarm', `the lane has refused request ${id}: ${status.reason}`);
      if (status.kind !== 'ended') return [];
      const { ending } = status;
      if (ending.kind === 'lost') return this.once(job, 'trouble', `another transaction used the nonce of request ${id}`);
      return ending.succeeded ? [] : this.once(job, 'trouble', `transaction ${ending.txHash} reverted: somebody else may have been first`);
    });
  }

  /** Told once per job and `about`. */
  once({ key, title }: Job, level: Told['level'], text: string, about = text): readonly Told[] {
    const memory = this.#of(key);
    if (memory.told.has(about)) return [];
    this.#put(key, { ...memory, told: new Set([...memory.told, about]) });
    return [{ level, text: `${title}: ${text}` }];
  }

  #of(key: string): Memory {
    return this.#memory.get(key) ?? NOTHING;
  }

  #put(key: string, memory: Memory): void {
    this.#memory.set(key, memory);
  }
}

export function tell(told: readonly Told[], report: Report): void {
  for (const { level, text } of told) report(level, text);
}
