/**
 * How a user of a lane keeps going: it holds its purpose, reads what the lane did with its requests, does a round of
 * work, and waits.
 */
import { startReactor } from '../../engine/reactor.js';
import type { Report } from '../../engine/report.js';
import type { Backoff } from '../../engine/waiting.js';
import {
  OutboxUnavailable, type HeldLaneUser, type LaneRequest, type LaneUser, type RequestStatus, type TrackedRequest,
} from '../lane/requests.js';

export interface LaneRoundsOptions {
  readonly lane: LaneUser;
  /** As reports name the user: `chain 1: the keeper`. */
  readonly who: string;
  /** Called when this process has taken the purpose, before the first round. */
  readonly taken?: (requests: PurposeRequests) => void;
  /** May throw: the round is repeated after a pause. */
  readonly round: (requests: PurposeRequests) => Promise<void>;
  /** The time between two rounds, in milliseconds. A change that the lane makes starts a round at once. */
  readonly pollMs: number;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** The pauses after rounds that failed. */
  readonly backoff?: Backoff;
  readonly signal: AbortSignal;
  readonly report: Report;
}

export interface RoundsStatus {
  /** Whether this process owns the purpose; if not, another one may. */
  readonly holds: boolean;
  /** Why the last round failed; undefined when it succeeded. */
  readonly problem: string | undefined;
}

export interface LaneRounds {
  /** Resolves when the rounds have ended. Only `signal` ends them. */
  readonly done: Promise<void>;
  status(): RoundsStatus;
  /** The requests while this process owns the purpose. */
  requests(): PurposeRequests | undefined;
}

const BACKOFF: Backoff = { firstMs: 250, longestMs: 60_000 };

export function startLaneRounds(options: LaneRoundsOptions): LaneRounds {
  const { lane, who, taken, round, pollMs, now, backoff = BACKOFF, signal, report } = options;
  const reactor = startReactor<PurposeRequests>({
    async hold(standBy) {
      const requests = new PurposeRequests(await lane.hold(standBy), now);
      try {
        await requests.update();
        taken?.(requests);
        return requests;
      } catch (error) {
        await requests.held.close();
        throw error;
      }
    },
    round,
    rest: ({ held }) => held.wait(signal, pollMs),
    release: ({ held }) => held.close(),
    isLoss: (error) => error instanceof OutboxUnavailable,
    backoff, who, report, signal,
  });
  return {
    done: reactor.done, requests: () => reactor.held(),
    status: () => ({ holds: reactor.held() !== undefined, problem: reactor.problem() }),
  };
}

/** Whether nothing more becomes of the request. */
export function isOver({ kind }: RequestStatus): boolean {
  return kind === 'refused' || kind === 'ended';
}

/**
 * Whether the request is over and the history has the facts of its transaction's block: all blocks below `nextBlock`.
 */
export function isRecorded(status: RequestStatus, nextBlock: number): boolean {
  if (status.kind === 'ended' && status.ending.kind === 'mined') return status.ending.block < nextBlock;
  return isOver(status);
}

/** The requests of the purpose, whichever process made them: the outbox lists them, and a new owner lists them anew. */
export class PurposeRequests {
  readonly #requests = new Map<string, TrackedRequest>();

  constructor(readonly held: HeldLaneUser, private readonly now: () => number) {}

  /** All that are not forgotten, oldest first, as of the last `update`. */
  list(): readonly TrackedRequest[] {
    return [...this.#requests.values()];
  }

  /** Reads what the lane has changed since the last call, and returns it. */
  async update(): Promise<readonly TrackedRequest[]> {
    const changes = await this.held.changes();
    for (const request of changes) this.#requests.set(request.id, request);
    return changes;
  }

  async request(request: LaneRequest): Promise<void> {
    await this.held.ask([request]);
    const { id, note } = request;
    this.#requests.set(id, { id, note, status: { kind: 'waiting' }, txHashes: [], askedAtMs: this.now() });
  }

  async forget(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.held.forget(ids);
    for (const id of ids) this.#requests.delete(id);
  }
}
