/**
 * Decides which quick markets to create and to resolve, and what an operator is told. It does no input or output, so the same sequence of calls
 * always gives the same decisions. What was asked of the lane is not remembered here: the outbox lists it.
 */
import { recordId } from '../../engine/records/codec.js';
import type { QuickMarket } from '../../engine/run/view.js';
import type { TrackedRequest } from '../lane/requests.js';
import { Docket, type DocketRules, type Job as DocketJob, type Told } from '../rounds/docket.js';
import { isOver } from '../rounds/lane-rounds.js';
import type { MarketIds, Terms } from './terms.js';

export interface CreateJob extends Terms, MarketIds {
  readonly kind: 'create';
  /** The market has started, so its first price lies in the past. */
  readonly late: boolean;
}

export interface ResolveJob {
  readonly kind: 'resolve';
  readonly marketId: string;
  readonly asset: string;
  /** Prices in units of 1e-8 USD, in decimal digits; times of publication in seconds. */
  readonly startPrice: string;
  readonly startPublishedS: number;
  readonly endPrice: string;
  readonly endPublishedS: number;
}

export type Job = CreateJob | ResolveJob;

/** What a look at the chain has found. */
export type Finding
  /** A transaction would do it in the next block. */
  = | { readonly kind: 'ready' }
    /** The chain has it already: the history will. */
    | { readonly kind: 'done' }
    /** Not yet, and that is no fault. */
    | { readonly kind: 'waits'; readonly reason: string }
    /** The contract refuses it. */
    | { readonly kind: 'refused'; readonly reason: string };

export interface AgendaRules extends DocketRules {
  /** A decided market that is not resolved so long after its end has waited for too long, in milliseconds. */
  readonly longMs: number;
  /** Sources are asked again about a price that did not come in time: only when it is missing for so long is there an alarm, in milliseconds. */
  readonly missedMs: number;
  /** The most jobs per round. */
  readonly looks: number;
}

export const AGENDA_RULES: AgendaRules = {
  againMs: 5_000, backoff: { firstMs: 5_000, longestMs: 600_000 }, longMs: 600_000, missedMs: 15_000, looks: 20,
};

/** What the history, the chain and the outbox have at the moment of a round. */
export interface Round {
  /** The markets that there should be. */
  readonly wanted: readonly (Terms & MarketIds)[];
  /** Whether the history has a market. */
  readonly isKnown: (marketId: string) => boolean;
  /** The quick markets that the chain has not resolved, as the history has them. */
  readonly unresolved: readonly QuickMarket[];
  /** All requests that the outbox lists. */
  readonly requests: readonly TrackedRequest[];
  /** The history has every fact of the blocks below this one. */
  readonly nextBlock: number;
  /** The chain's time in seconds. */
  readonly timeS: number;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

export interface AgendaStatus {
  /** Markets that there should be and are not. */
  readonly missing: number;
  /** Decided markets that are not resolved. */
  readonly decided: number;
  /** Markets that lack a price that did not come in time: they cannot be resolved until it does, or an administrator halves them. */
  readonly unresolvable: number;
  /** Jobs that the contract refused last. */
  readonly refused: number;
}

/** A request's subject, of which the outbox keeps the note. */
export interface QuickNote {
  readonly kind: Job['kind'];
  readonly marketId: string;
}

/** The agenda of one chain. */
export class Agenda {
  readonly #docket: Docket;
  /** By the market: when it was first seen to lack a price. */
  #missedSinceMs = new Map<string, number>();
  #status: AgendaStatus = { missing: 0, decided: 0, unresolvable: 0, refused: 0 };

  constructor(private readonly chainId: number, private readonly rules: AgendaRules) {
    this.#docket = new Docket(rules);
  }

  status(): AgendaStatus {
    return this.#status;
  }

  /** The jobs to look at now, and what is to be told. */
  begin(round: Round): { readonly jobs: readonly Job[]; readonly told: readonly Told[] } {
    const { wanted, isKnown, unresolved, requests, nextBlock, timeS, nowMs } = round;
    const creates = wanted.filter(({ marketId }) => !isKnown(marketId))
      .map((terms): CreateJob => ({ kind: 'create', ...terms, late: terms.startTime * 1_000 <= nowMs }));
    const resolves = unresolved.flatMap(resolveJob);
    const missed = unresolved.filter(({ quick }) => quick.missed.size > 0);
    const jobs: readonly Job[] = [...resolves, ...creates];
    this.#docket.keep(new Set([...jobs.map(keyOf), ...missed.map(keyOfMissed)]));
    this.#missedSinceMs = new Map(missed.map(({ marketId }) => [marketId, this.#missedSinceMs.get(marketId) ?? nowMs]));
    const stillMissed = missed.filter(({ marketId }) => nowMs >= (this.#missedSinceMs.get(marketId) ?? nowMs) + this.rules.missedMs);
    const told = [
      ...stillMissed.flatMap((market) => this.#missed(market)),
      ...jobs.flatMap((job) => this.#docket.inVain(this.#job(job), requestsOf(job, requests))),
      ...resolves.flatMap((job) => this.#waitsLong(job, { requests: requestsOf(job, requests), nowMs })),
    ];
    const due = jobs.filter((job) => (job.kind === 'create' || timeS >= Math.max(endOf(job, unresolved), job.endPublishedS))
      && this.#docket.mayLook(keyOf(job), requestsOf(job, requests), { nextBlock, nowMs }));
    const refused = jobs.filter((job) => this.#docket.isRefused(keyOf(job))).length;
    this.#status = { missing: creates.length, decided: resolves.length, unresolvable: missed.length, refused };
    return { jobs: due.slice(0, this.rules.looks), told };
  }

  /** Notes a finding. Returns what is to be told. A job that is `ready` is to be asked for with `requestIdOf`. */
  saw(job: Job, finding: Finding, nowMs: number): readonly Told[] {
    const key = keyOf(job);
    switch (finding.kind) {
      case 'ready':
        this.#docket.saw(key, finding, nowMs);
        return [];
      case 'done':
        this.#docket.saw(key, { kind: 'waits', reason: 'the chain has it, and the history has not heard of that' }, nowMs);
        return [];
      case 'waits':
        this.#docket.saw(key, finding, nowMs);
        return this.#docket.once(this.#job(job), 'note', finding.reason);
      case 'refused':
        this.#docket.saw(key, finding, nowMs);
        return this.#docket.once(
          this.#job(job), 'alarm', `the contract refuses it: ${finding.reason}. Nothing is sent; it is tried again with growing pauses`);
    }
  }

  #missed(market: QuickMarket): readonly Told[] {
    const { marketId, quick: { asset, startTime, missed }, expiration } = market;
    const times = [...missed].map((which) => isoText(which === 'start' ? startTime : expiration)).join(' and ');
    const job = { key: keyOfMissed(market), title: `chain ${this.chainId}, market ${marketId}` };
    const text = `no source has told the price of ${asset} at ${times}. Without it nobody can resolve the market; a day after its end the quick `
      + 'resolver\'s administrator can halve it';
    return this.#docket.once(job, 'alarm', text, [...missed].join());
  }

  #waitsLong(job: ResolveJob, { requests, nowMs }: { requests: readonly TrackedRequest[]; nowMs: number }): readonly Told[] {
    if (nowMs < job.endPublishedS * 1_000 + this.rules.longMs) return [];
    const reason = this.#docket.holdUp(keyOf(job), requests);
    if (reason === undefined) return [];
    const text = `that has waited for more than ${Math.round(this.rules.longMs / 60_000)} minutes: ${reason}`;
    return this.#docket.once(this.#job(job), 'alarm', text, 'waits long');
  }

  #job(job: Job): DocketJob {
    return { key: keyOf(job), title: `chain ${this.chainId}, ${textOf(job)}` };
  }
}

/** The note that the outbox returned; undefined when it is not a quick market's. */
export function readQuickNote(note: unknown): QuickNote | undefined {
  if (typeof note !== 'object' || note === null) return undefined;
  const { kind, marketId } = note as Partial<QuickNote>;
  return (kind === 'create' || kind === 'resolve') && typeof marketId === 'string' ? { kind, marketId } : undefined;
}

/**
 * The lane's id of the next request for a job: the same in every process and after every restart, so that it is sent once. After a request
 * that ended in vain it is another one: the outbox lists requests until their job is over.
 */
export function requestIdOf(chainId: number, job: Job, requests: readonly TrackedRequest[]): string {
  return recordId(`quick:${chainId}:${keyOf(job)}:${requestsOf(job, requests).length}`);
}

/** Requests that are over and whose job is too. */
export function forgettable({ wanted, isKnown, unresolved, requests }: Pick<Round, 'wanted' | 'isKnown' | 'unresolved' | 'requests'>): readonly string[] {
  const open = new Set([
    ...wanted.filter(({ marketId }) => !isKnown(marketId)).map(({ marketId }) => `create:${marketId}`), ...unresolved.map(({ marketId }) => `resolve:${marketId}`),
  ]);
  return requests.filter(({ note, status }) => {
    const read = readQuickNote(note);
    return isOver(status) && (read === undefined || !open.has(keyOf(read)));
  }).map(({ id }) => id);
}

/** The job of a market whose outcome is decided. A price's second is the one in which it was published: never before its boundary. */
function resolveJob({ marketId, quick: { asset, strike, end, outcome } }: QuickMarket): ResolveJob[] {
  if (strike === undefined || end === undefined || outcome === undefined) return [];
  const secondOf = (ms: number): number => Math.floor(ms / 1_000);
  return [{
    kind: 'resolve', marketId, asset, startPrice: strike.price, startPublishedS: secondOf(strike.publishedAt), endPrice: end.price,
    endPublishedS: secondOf(end.publishedAt),
  }];
}

function endOf({ marketId }: ResolveJob, unresolved: readonly QuickMarket[]): number {
  return unresolved.find((market) => market.marketId === marketId)?.expiration ?? 0;
}

/** The requests for a job, in the order of asking. */
function requestsOf(job: QuickNote, requests: readonly TrackedRequest[]): readonly TrackedRequest[] {
  return requests.filter(({ note }) => {
    const read = readQuickNote(note);
    return read !== undefined && keyOf(read) === keyOf(job);
  });
}

function keyOf({ kind, marketId }: QuickNote): string {
  return `${kind}:${marketId}`;
}

function keyOfMissed({ marketId }: Pick<QuickMarket, 'marketId'>): string {
  return `missed:${marketId}`;
}

function textOf(job: Job): string {
  return job.kind === 'create'
    ? `creating the quick market of ${job.asset} from ${isoText(job.startTime)}`
    : `resolving the quick market ${job.marketId} of ${job.asset}`;
}

function isoText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}
