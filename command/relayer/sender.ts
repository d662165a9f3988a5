/**
 * The relay sender of a chain: records each checked request in the history, requests its transaction from the lane, and
 * records how it ended. One process at a time sends. What it leaves behind the next one goes on with: the outbox has
 * the transactions, the history the requests.
 */
import { LRUCache } from 'lru-cache';
import type { EndRelay, RequestRelay } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import { createBell } from '../../engine/waiting.js';
import { errorText, messageOf, type Report } from '../../engine/report.js';
import { isOver, isRecorded, startLaneRounds, type PurposeRequests, type LaneRounds } from '../jobs/lane-rounds.js';
import { OutboxUnavailable, type PublishedLaneState, type LaneUser, type TrackedRequest } from '../lane/requests.js';
import { judge, neverSent, type RelayEnding, type EndingParts } from './endings.js';
import { laneIdOf, readRelayNote, type RelayNote } from './note.js';
import { createAdmission, type Admission } from './turns.js';

/** What the sender reads and writes of the history. */
export interface RelayHistory {
  /** The chain's requests that have not ended. */
  open(): Iterable<{ readonly requestId: string; readonly claims: readonly unknown[] }>;
  /** The history has every fact of the blocks below this one. */
  nextBlock(): number;
  /**
   * Resolves when the history has reached the latest block that is final now: blocks without facts are recorded only on
   * request.
   */
  catchUp(): Promise<void>;
  /**
   * Resolves with the command's position and whether the engine has taken it. Throws RequestError when the log cannot
   * be written.
   */
  record(command: RequestRelay | EndRelay): Promise<{ readonly position: number; readonly taken: boolean }>;
}

export interface RelaySenderOptions {
  readonly chainId: number;
  readonly lane: LaneUser;
  readonly history: RelayHistory;
  readonly endings: EndingParts;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly timings?: Partial<RelaySenderTimings>;
}

export interface RelaySenderTimings {
  /** How often the lane's changes and state are read without a wake-up. */
  readonly pollMs: number;
  /** How long a client waits for the lane to sign. */
  readonly answerWithinMs: number;
  /** After this time without a sign of a process that works on the lane, nothing more is taken. */
  readonly laneSilentMs: number;
}

const TIMINGS: RelaySenderTimings = { pollMs: 500, answerWithinMs: 15_000, laneSilentMs: 30_000 };
const BACKOFF = { firstMs: 250, longestMs: 10_000 };
/** Ended requests whose hashes are remembered: the read model that has them all may lag. */
const REMEMBERED = 10_000;

/** A request that has passed all checks. */
export interface CheckedRequest {
  readonly note: RelayNote;
  /** Names the bearer token, for its turn. */
  readonly token: string;
  readonly claims: RequestRelay['claims'];
  readonly call: { readonly to: string; readonly data: string };
  readonly gasLimit: bigint;
  /**
   * Throws RequestError when the request must not be sent by what history and chain have now, ChainUnavailable when
   * that cannot be told.
   */
  readonly recheck: () => Promise<void>;
}

export interface RelaySender {
  /** Resolves when the sender has ended. Only `signal` ends it. */
  readonly done: Promise<void>;
  /**
   * Takes the request and resolves with its transaction's hash as soon as the lane has signed it. Throws RequestError
   * `relay_already_used` when an open request uses one of its nonces, what `recheck` throws, `relay_unavailable` when
   * it cannot be sent now; sending the same request again is safe.
   */
  send(request: CheckedRequest): Promise<string>;
  /** Throws RequestError `relay_already_used` when an open request uses one of the nonces. */
  refuseUsed(nonces: RelayNote['nonces']): void;
  /** The owner's open requests; where the given one is open, those that were taken before it. */
  openOf(owner: string, requestId: string): readonly RelayNote[];
  /** The hash of an open request, once the lane has signed it; undefined for any other request. */
  find(requestId: string): Promise<string> | undefined;
  /** How a request ended, if that was lately and in this process. */
  ended(requestId: string): EndedRelay | undefined;
  /**
   * When a transaction for this owner was last seen to have reverted, in milliseconds since the Unix epoch, if that was
   * in this process.
   */
  revertedAt(owner: string): number | undefined;
  /** Why nothing can be sent at present; undefined when something can. */
  problem(): string | undefined;
  status(): RelaySenderStatus;
}

/** A request that has ended. */
export interface EndedRelay {
  /** Undefined when no transaction was sent. */
  readonly txHash: string | undefined;
  /** Whether all of it succeeded. */
  readonly succeeded: boolean;
}

export interface RelaySenderStatus {
  /** Whether this process is the one that sends; if not, another one may be. */
  readonly holds: boolean;
  readonly open: number;
  readonly problem: string | undefined;
}

/** A request that has not ended, as far as this process knows. */
interface OpenRequest {
  readonly note: RelayNote;
  /** Between the record in the history and the outbox's answer: not to be given up as left behind. */
  isSubmitting: boolean;
  /** As the outbox last listed it; undefined before that. */
  tracked: TrackedRequest | undefined;
}

export function openRelaySender(options: RelaySenderOptions): RelaySender {
  return new RunningSender(options);
}

class RunningSender implements RelaySender {
  readonly done: Promise<void>;
  private readonly timings: RelaySenderTimings;
  private readonly rounds: LaneRounds;
  private laneState: PublishedLaneState | undefined;
  private laneSeenAtMs = 0;
  private lastReport: string | undefined;
  /** In the order in which they were taken. */
  private readonly open = new Map<string, OpenRequest>();
  private readonly endings = new LRUCache<string, EndedRelay>({ max: REMEMBERED });
  private readonly reverts = new LRUCache<string, number>({ max: REMEMBERED });
  private isCatchingUp = false;
  private readonly admission: Admission;
  /** Rings when a request has got a hash or has ended, and when it is a request's turn. */
  private readonly changed = createBell();

  constructor(private readonly options: RelaySenderOptions) {
    const { chainId, lane, now, signal, report } = options;
    this.timings = { ...TIMINGS, ...options.timings };
    this.admission = createAdmission({
      unsigned: () => [...this.open.values()].filter(isUnsigned).length, problem: () => this.problem(),
      bell: this.changed, withinMs: this.timings.answerWithinMs, now, signal,
    });
    this.rounds = startLaneRounds({
      lane, who: `chain ${chainId}: the relayer`, pollMs: this.timings.pollMs, backoff: BACKOFF, now, signal, report,
      taken: (requests) => {
        // What is open is what the outbox lists: of a request that is in doubt, it tells whether the lane has it.
        this.open.clear();
        this.update(requests.list());
      },
      round: (requests) => this.round(requests),
    });
    this.done = this.rounds.done.then(() => { this.changed.ring(); });
  }

  async send(request: CheckedRequest): Promise<string> {
    const { note: { requestId, owner }, token } = request;
    const leave = await this.admission.enter({ token, owner });
    try {
      if (!this.open.has(requestId)) await this.submit(request);
    } finally {
      leave();
    }
    return this.hashOf(requestId);
  }

  /** Records the request and requests its transaction from the lane. */
  private async submit({ note, claims, call, gasLimit, recheck }: CheckedRequest): Promise<void> {
    const { requestId, action, owner, nonces } = note;
    const { history, chainId, now } = this.options;
    const requests = this.rounds.requests();
    const problem = this.problem();
    if (problem !== undefined || requests === undefined) throw unavailable(problem ?? 'the relayer is not ready');
    this.refuseUsed(nonces);
    const request: OpenRequest = { note, isSubmitting: true, tracked: undefined };
    this.open.set(requestId, request);
    try {
      const at = now();
      const command: RequestRelay = { kind: 'RequestRelay', v: 1, at, requestId, chainId, action, owner, claims };
      const { position, taken } = await history.record(command);
      // One that an earlier process left open: the next round ends it.
      if (!taken) throw unavailable('an earlier try is being given up, or too many requests are open');
      await this.recheck(recheck, note);
      await requests.request({ id: laneIdOf({ requestId, position }), ...call, gasLimit, note });
    } catch (error) {
      // Whether the lane has it is unknown: the request stays open until the outbox has been read anew, so that no
      // round gives it up.
      if (error instanceof OutboxUnavailable) throw unavailable('the outbox does not answer');
      this.open.delete(requestId);
      throw error;
    } finally {
      request.isSubmitting = false;
    }
  }

  /**
   * The history has every order that came before the request. A request that must not be sent for it ends, and the
   * error is thrown on.
   */
  private async recheck(recheck: CheckedRequest['recheck'], { requestId, goals }: RelayNote): Promise<void> {
    try {
      await recheck();
    } catch (error) {
      await this.end(requestId, neverSent(goals.length, messageOf(error)));
      throw error;
    }
  }

  refuseUsed(nonces: RelayNote['nonces']): void {
    const own = new Set(nonces.map((each) => each.join()));
    const other = [...this.open.values()].find((each) => each.note.nonces.some((nonce) => own.has(nonce.join())));
    if (other === undefined) return;
    const hash = other.tracked?.txHashes.at(-1);
    const where = hash === undefined ? '' : ` in transaction ${hash}`;
    throw new RequestError('relay_already_used', `another request with this nonce is on its way${where}`);
  }

  openOf(owner: string, requestId: string): readonly RelayNote[] {
    const taken = [...this.open];
    const own = taken.findIndex(([id]) => id === requestId);
    return taken.slice(0, own < 0 ? taken.length : own)
      .flatMap(([, { note, tracked }]) => note.owner === owner && !hasEnded(tracked) ? [note] : []);
  }

  find(requestId: string): Promise<string> | undefined {
    return this.open.has(requestId) ? this.hashOf(requestId) : undefined;
  }

  ended(requestId: string): EndedRelay | undefined {
    return this.endings.get(requestId);
  }

  revertedAt(owner: string): number | undefined {
    return this.reverts.get(owner);
  }

  problem(): string | undefined {
    const { holds, problem } = this.rounds.status();
    if (!holds) return problem ?? 'another process relays, or this one has just started';
    if (problem !== undefined) return problem;
    if (this.laneState === undefined) return 'no lane has worked on the relayer\'s key yet';
    if (this.laneState.problem !== undefined) return `the lane is stuck: ${this.laneState.problem.text}`;
    const isSilent = this.options.now() - this.laneSeenAtMs >= this.timings.laneSilentMs;
    return isSilent ? 'no process works on the relayer\'s lane' : undefined;
  }

  status(): RelaySenderStatus {
    return { holds: this.rounds.status().holds, open: this.open.size, problem: this.problem() };
  }

  /** Waits until the lane has signed a transaction of the request, or has refused it. */
  private async hashOf(requestId: string): Promise<string> {
    const { now, signal } = this.options;
    const end = now() + this.timings.answerWithinMs;
    for (let left = this.timings.answerWithinMs; left > 0 && !signal.aborted; left = end - now()) {
      const request = this.open.get(requestId);
      const hash = request === undefined ? this.endings.get(requestId)?.txHash : request.tracked?.txHashes.at(-1);
      if (hash !== undefined) return hash;
      if (request === undefined) throw unavailable('it was not sent');
      const { status } = request.tracked ?? {};
      if (status?.kind === 'refused') throw new RequestError('relay_would_revert', status.reason);
      await this.changed.wait(signal, left);
    }
    throw unavailable('the lane has not signed the transaction yet');
  }

  /**
   * Reads what the lane has done, ends the requests that are left behind, and records how others ended. Left behind are
   * requests of the history that the outbox does not have: the process that took them ended in between. The history is
   * listed before the outbox answers, which proves that no other process was the sender until then: what another one
   * takes afterwards is not this one's to end.
   */
  private async round(requests: PurposeRequests): Promise<void> {
    const { history } = this.options;
    const listed = [...history.open()];
    this.update(await requests.update());
    this.sawLane(await requests.held.state());
    for (const { requestId, claims } of listed) {
      if (!this.open.has(requestId)) await this.end(requestId, neverSent(claims.length));
    }
    for (const [requestId, { note, tracked, isSubmitting }] of this.open) {
      if (tracked === undefined || !hasEnded(tracked) || isSubmitting) continue;
      if (!isRecorded(tracked.status, history.nextBlock())) this.catchUp();
      else {
        const concluded = this.conclude(note, tracked, requests);
        await concluded.catch((error: unknown) => { this.failsToEnd(requestId, error); });
      }
    }
  }

  /** An ending that cannot be judged or recorded now waits; others go on. */
  private failsToEnd(requestId: string, error: unknown): void {
    if (error instanceof OutboxUnavailable) throw error;
    const { report, chainId } = this.options;
    const text = `chain ${chainId}: the ending of relayed request ${requestId} waits: ${errorText(error)}`;
    if (text !== this.lastReport) report('warn', text);
    this.lastReport = text;
  }

  /** Makes the history catch up with a transaction that has ended. */
  private catchUp(): void {
    if (this.isCatchingUp) return;
    this.isCatchingUp = true;
    this.options.history.catchUp().catch(() => undefined).finally(() => { this.isCatchingUp = false; });
  }

  private update(changes: readonly TrackedRequest[]): void {
    for (const tracked of changes) {
      const note = readRelayNote(tracked.note);
      if (note === undefined) continue;
      const request = this.open.get(note.requestId) ?? { note, isSubmitting: false, tracked };
      request.tracked = tracked;
      this.open.set(note.requestId, request);
    }
    if (changes.length === 0) return;
    this.changed.ring();
    this.admission.letIn();
  }

  private sawLane(state: PublishedLaneState | undefined): void {
    if (state !== undefined && state.seenAtMs !== this.laneState?.seenAtMs) this.laneSeenAtMs = this.options.now();
    this.laneState = state;
  }

  /** Records how a request has ended, then forgets it. Repeated after a failure; the engine takes an ending once. */
  private async conclude(note: RelayNote, tracked: TrackedRequest, requests: PurposeRequests): Promise<void> {
    const { id, status, txHashes } = tracked;
    if (status.kind !== 'refused' && status.kind !== 'ended') return;
    const { requestId, owner } = note;
    const ended = await judge(note, status, txHashes, this.options.endings);
    const { txHash, results } = ended;
    const succeeded = results.every((result) => result.succeeded);
    // Where somebody else has brought the message first, ours reverts and nobody is to blame.
    if (!succeeded && status.kind === 'ended' && status.ending.kind === 'mined' && !status.ending.succeeded) {
      this.reverts.set(owner, this.options.now());
    }
    await this.end(requestId, ended);
    await requests.forget([id]);
    this.endings.set(requestId, { txHash, succeeded });
    this.open.delete(requestId);
    this.changed.ring();
  }

  private async end(requestId: string, { txHash, results }: RelayEnding): Promise<void> {
    const { history, chainId, now } = this.options;
    const sent = txHash === undefined ? {} : { txHash };
    await history.record({
      kind: 'EndRelay', v: 1, at: now(), requestId, chainId, ...sent, results: results.map((result) => ({ ...result })),
    });
  }
}

function hasEnded(tracked: TrackedRequest | undefined): boolean {
  return tracked !== undefined && isOver(tracked.status);
}

/** Whether the lane has it and has done nothing yet. */
function isUnsigned({ isSubmitting, tracked }: OpenRequest): boolean {
  return !isSubmitting && (tracked === undefined || (tracked.txHashes.length === 0 && !isOver(tracked.status)));
}

function unavailable(detail: string): RequestError {
  return new RequestError('relay_unavailable', detail);
}
