/** How a user of a lane works in rounds: it holds its purpose, does a round, waits. A failure is reported once and retried with growing pauses. */
import { backoffMs, pause, type Backoff } from '../../engine/waiting.js';
import { errorText, type Report } from '../chain/report.js';
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

export function runLaneRounds(options: RoundsOptions): LaneRounds {
  const rounds = new RunningRounds(options);
  return { done: rounds.run(), status: () => rounds.status() };
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

class RunningRounds {
  private held: HeldLaneUser | undefined;
  private readonly requests = new Map<string, TrackedRequest>();
  private failure: string | undefined;

  constructor(private readonly options: RoundsOptions) {}

  status(): RoundsStatus {
    return { holds: this.held !== undefined, trouble: this.failure };
  }

  async run(): Promise<void> {
    const { signal, report, who, pollMs } = this.options;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const held = this.held ?? await this.hold();
        await this.round(held);
        if (this.failure !== undefined) report('note', `${who} goes on`);
        this.failure = undefined;
        failures = 0;
        await held.wait(signal, pollMs);
      } catch (error) {
        if (signal.aborted) break;
        const text = errorText(error);
        if (text !== this.failure) report('trouble', `${who} waits: ${text}`);
        this.failure = text;
        if (error instanceof OutboxUnavailable) await this.letGo();
        await pause(backoffMs(++failures, RETRY), signal);
      }
    }
    await this.letGo();
  }

  private async hold(): Promise<HeldLaneUser> {
    // What was asked for is what the outbox lists, whichever process asked.
    this.requests.clear();
    return this.held = await this.options.lane.hold(this.options.signal);
  }

  private async letGo(): Promise<void> {
    const { held } = this;
    this.held = undefined;
    await held?.close();
  }

  private async round(held: HeldLaneUser): Promise<void> {
    const { requests } = this;
    for (const request of await held.changes()) requests.set(request.id, request);
    await this.options.round({
      list: () => [...requests.values()],
      ask: async (request) => {
        await held.ask([request]);
        requests.set(request.id, { id: request.id, note: request.note, status: { kind: 'waiting' }, txHashes: [], askedAtMs: this.options.now() });
      },
      forget: async (ids) => {
        if (ids.length === 0) return;
        await held.forget(ids);
        for (const id of ids) requests.delete(id);
      },
    });
  }
}
