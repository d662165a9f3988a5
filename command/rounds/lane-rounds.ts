/** How a user of a lane works in rounds: it holds its purpose, does a round, waits. A failure is reported once and retried with growing pauses. */
import { startReactor } from '../../engine/reactor.js';
import type { Report } from '../../engine/report.js';
import { backoffMs, type Backoff } from '../../engine/waiting.js';
import { OutboxUnavailable, type HeldLaneUser, type LaneRequest, type LaneUser, type RequestStatus, type TrackedRequest } from '../lane/requests.js';

export interface RoundsOptions {
  readonly lane: LaneUser;
  /** As reports name the user: `chain 1: the keeper`. */
  readonly who: string;
  /** What is done in a round. May throw: the round is repeated. */
  readonly round: (requests: HeldRequests) => Promise<void>;
  /** The time between two rounds, in milliseconds. A change that the lane makes starts one at once. */
  readonly pollMs: number;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly report: Report;
}

/** The requests of the purpose, whichever process asked. */
export interface HeldRequests {
  /** All that are not forgotten, in the order of asking. */
  list(): readonly TrackedRequest[];
  ask(request: LaneRequest): Promise<void>;
  forget(ids: readonly string[]): Promise<void>;
}

export interface RoundsStatus {
  /** Whether this process owns the purpose; if not, another one may. */
  readonly holds: boolean;
  /** Why the last round failed; undefined when it succeeded. */
  readonly trouble: string | undefined;
}

export interface LaneRounds {
  /** Resolves when the rounds have ended. Only `signal` ends them. */
  readonly done: Promise<void>;
  status(): RoundsStatus;
}

const RETRY: Backoff = { firstMs: 250, longestMs: 60_000 };

export function runLaneRounds({ lane, who, round, pollMs, now, signal, report }: RoundsOptions): LaneRounds {
  const reactor = startReactor<Rounds>({
    hold: async (standBy) => new Rounds(await lane.hold(standBy), now),
    round: async (rounds) => {
      await rounds.hear();
      await round(rounds);
    },
    rest: ({ held }) => held.wait(signal, pollMs),
    release: ({ held }) => held.close(),
    isLoss: (error) => error instanceof OutboxUnavailable,
    backoff: RETRY, who, report, signal,
  });
  return { done: reactor.done, status: () => ({ holds: reactor.held() !== undefined, trouble: reactor.trouble() }) };
}

/** Whether a request may follow the earlier ones for the same end: the history has seen the last one's block, and the pause after it is over. */
export function mayTryAgain(
  requests: readonly TrackedRequest[], { nextBlock, nowMs, backoff }: { nextBlock: number; nowMs: number; backoff: Backoff },
): boolean {
  const last = requests.at(-1);
  return last === undefined || (isPast(last.status, nextBlock) && nowMs >= last.askedAtMs + backoffMs(requests.length, backoff));
}

/** Whether nothing more becomes of the request. */
export function isOver({ kind }: RequestStatus): boolean {
  return kind === 'refused' || kind === 'ended';
}

/** Whether the request is over and the history has the facts of its transaction's block. */
function isPast(status: RequestStatus, nextBlock: number): boolean {
  return status.kind === 'refused' || (status.kind === 'ended' && (status.ending.kind === 'lost' || status.ending.block < nextBlock));
}

/** What was asked for is what the outbox lists, whichever process asked: a new hold lists it anew. */
class Rounds implements HeldRequests {
  private readonly requests = new Map<string, TrackedRequest>();

  constructor(readonly held: HeldLaneUser, private readonly now: () => number) {}

  async hear(): Promise<void> {
    for (const request of await this.held.changes()) this.requests.set(request.id, request);
  }

  list(): readonly TrackedRequest[] {
    return [...this.requests.values()];
  }

  async ask(request: LaneRequest): Promise<void> {
    await this.held.ask([request]);
    const { id, note } = request;
    this.requests.set(id, { id, note, status: { kind: 'waiting' }, txHashes: [], askedAtMs: this.now() });
  }

  async forget(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.held.forget(ids);
    for (const id of ids) this.requests.delete(id);
  }
}
