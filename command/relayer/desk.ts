/**
 * The desk of a chain: takes requests that have been checked, records each in the history, asks the lane for its transaction, and records how it
 * ended. One process at a time has it. What a process leaves behind the next one goes on with: the outbox has the transactions, the history
 * the requests.
 */
import { LRUCache } from 'lru-cache';
import type { EndRelay, RequestRelay } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import { startReactor, type Reactor, type StandBy } from '../../engine/reactor.js';
import { createBell } from '../../engine/waiting.js';
import { errorText, type Report } from '../../engine/report.js';
import { OutboxUnavailable, type HeldLaneUser, type LaneState, type LaneUser, type TrackedRequest } from '../lane/requests.js';
import { createAdmission, type Admission } from './turns/admission.js';
import { judge, neverSent, type EndingParts } from './endings.js';
import { laneIdOf, readRelayNote, type RelayNote } from './note.js';

/** What the desk reads and writes of the history. */
export interface RelayHistory {
  /** The chain's requests that have not ended. */
  open(): Iterable<{ readonly requestId: string; readonly claims: readonly unknown[] }>;
  /** The history has every fact of the blocks below this one. */
  nextBlock(): number;
  /** Resolves when the history has reached the latest block that is final now: blocks without facts are recorded only when asked for. */
  catchUp(): Promise<void>;
  /** Resolves with the command's position and whether the engine has taken it. Throws RequestError when the log cannot be written. */
  record(command: RequestRelay | EndRelay): Promise<{ readonly position: number; readonly taken: boolean }>;
}

export interface DeskOptions {
  readonly chainId: number;
  readonly lane: LaneUser;
  readonly history: RelayHistory;
  readonly endings: EndingParts;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly timings?: Partial<DeskTimings>;
}

export interface DeskTimings {
  /** How often the lane's changes and state are read without a wake-up. */
  readonly pollMs: number;
  /** How long a client waits for the lane to sign. */
  readonly answerWithinMs: number;
  /** After this time without a sign of a process that works on the lane, nothing more is taken. */
  readonly laneSilentMs: number;
}

export const DESK_TIMINGS: DeskTimings = { pollMs: 500, answerWithinMs: 15_000, laneSilentMs: 30_000 };
const RETRY = { firstMs: 250, longestMs: 10_000 };
/** Ended requests whose hashes are remembered: the read model that has them all may lag. */
const REMEMBERED = 10_000;

/** A checked request. */
export interface Order {
  readonly note: RelayNote;
  /** Names the bearer token, for its turn. */
  readonly token: string;
  readonly claims: RequestRelay['claims'];
  readonly call: { readonly to: string; readonly data: string };
  readonly gasLimit: bigint;
  /** Throws RequestError when the request must not be sent by what history and chain have now, ChainUnavailable when that cannot be told. */
  readonly recheck: () => Promise<void>;
}

/** A request that has not ended, as far as this process knows. */
interface OpenRequest {
  readonly note: RelayNote;
  laneId: string | undefined;
  /** The hashes of the attempts, the latest last. */
  txHashes: readonly string[];
  /** Between the record in the history and the lane's answer: not to be given up as left behind. */
  asking: boolean;
  over: TrackedRequest | undefined;
}

export interface Desk {
  /** Resolves when the desk has closed. Only `signal` closes it. */
  readonly done: Promise<void>;
  /**
   * Takes the request and resolves with its transaction's hash as soon as the lane has signed it. Throws RequestError `relay_already_used` when
   * an open request uses one of its nonces, what `recheck` throws, `relay_unavailable` when it cannot be sent now; asking again with the same
   * request is safe.
   */
  send(order: Order): Promise<string>;
  /** Throws RequestError `relay_already_used` when an open request uses one of the nonces. */
  refuseUsed(nonces: RelayNote['nonces']): void;
  /** The owner's open requests; where the given one is open, those that were taken before it. */
  openOf(owner: string, requestId: string): readonly RelayNote[];
  /** The hash of an open request, once the lane has signed it; undefined for any other request. */
  find(requestId: string): Promise<string> | undefined;
  /** How a request ended, if that was lately and in this process. */
  ended(requestId: string): EndedRelay | undefined;
  /** When a transaction for this owner was last seen to have reverted, in milliseconds since the Unix epoch, if that was in this process. */
  revertedAt(owner: string): number | undefined;
  /** Why nothing can be sent at present; undefined when something can. */
  trouble(): string | undefined;
  status(): DeskStatus;
}

/** A request that has ended. */
export interface EndedRelay {
  /** Undefined when no transaction was sent. */
  readonly txHash: string | undefined;
  /** Whether all of it succeeded. */
  readonly succeeded: boolean;
}

export interface DeskStatus {
  /** Whether this process has the desk; if not, another one may. */
  readonly holds: boolean;
  readonly open: number;
  readonly trouble: string | undefined;
}

export function openDesk(options: DeskOptions): Desk {
  const desk = new RunningDesk(options, { ...DESK_TIMINGS, ...options.timings });
  return {
    done: desk.done, send: (order) => desk.send(order), find: (requestId) => desk.find(requestId), ended: (requestId) => desk.endedLately(requestId),
    refuseUsed: (nonces) => { desk.refuseUsed(nonces); }, openOf: (owner, requestId) => desk.openOf(owner, requestId),
    revertedAt: (owner) => desk.revertedAt(owner),
    trouble: () => desk.trouble(), status: () => desk.status(),
  };
}

class RunningDesk {
  /** Resolves when the desk has closed. */
  readonly done: Promise<void>;
  private readonly reactor: Reactor<HeldLaneUser>;
  private state: LaneState | undefined;
  private heardAtMs = 0;
  private waiting: string | undefined;
  private readonly open = new Map<string, OpenRequest>();
  private readonly ended = new LRUCache<string, EndedRelay>({ max: REMEMBERED });
  private readonly reverted = new LRUCache<string, number>({ max: REMEMBERED });
  private catchingUp = false;
  private readonly admission: Admission;
  /** Rings when a request has got a hash or has ended, and when it is a request's turn. */
  private readonly changed = createBell();

  constructor(private readonly options: DeskOptions, private readonly timings: DeskTimings) {
    const { now, signal } = options;
    this.admission = createAdmission({
      unsigned: () => [...this.open.values()].filter(isUnsigned).length, trouble: () => this.trouble(), bell: this.changed,
      withinMs: timings.answerWithinMs, now, signal,
    });
    this.reactor = this.run();
    this.done = this.reactor.done.then(() => { this.changed.ring(); });
  }

  private run(): Reactor<HeldLaneUser> {
    const { signal, report, chainId } = this.options;
    return startReactor({
      hold: (standBy) => this.hold(standBy), round: (held) => this.round(held), rest: (held) => held.wait(signal, this.timings.pollMs),
      release: (held) => held.close(), isLoss: (error) => error instanceof OutboxUnavailable,
      backoff: RETRY, who: `chain ${chainId}: the relayer`, report, signal,
    });
  }

  async send(order: Order): Promise<string> {
    const { note: { requestId, owner }, token } = order;
    const asked = await this.admission.enter({ token, owner });
    try {
      if (!this.open.has(requestId)) await this.ask(order);
    } finally {
      asked();
    }
    return this.hashOf(requestId);
  }

  /** Records the request and asks the lane for it. */
  private async ask({ note, claims, call, gasLimit, recheck }: Order): Promise<void> {
    const { requestId, action, owner, nonces } = note;
    const { history, chainId, now } = this.options;
    const held = this.reactor.held();
    const trouble = this.trouble();
    if (trouble !== undefined || held === undefined) throw unavailable(trouble ?? 'the relayer is not ready');
    this.refuseUsed(nonces);
    const request: OpenRequest = { note, laneId: undefined, txHashes: [], asking: true, over: undefined };
    this.open.set(requestId, request);
    try {
      const { position, taken } = await history.record({ kind: 'RequestRelay', v: 1, at: now(), requestId, chainId, action, owner, claims });
      // One that an earlier process left open: the next round ends it.
      if (!taken) throw unavailable('an earlier try is being given up, or too many requests are open');
      await this.recheck(recheck, note);
      request.laneId = laneIdOf({ requestId, position });
      await held.ask([{ id: request.laneId, ...call, gasLimit, note }]);
    } catch (error) {
      // Whether the lane was asked is unknown: the request stays open until the desk has read the outbox anew, so that no round gives it up.
      if (error instanceof OutboxUnavailable) throw unavailable('the outbox does not answer');
      this.open.delete(requestId);
      throw error;
    } finally {
      request.asking = false;
    }
  }

  /** The history has every order that came before the request. A request that must not be sent for it ends, and the error is thrown on. */
  private async recheck(recheck: Order['recheck'], { requestId, goals }: RelayNote): Promise<void> {
    try {
      await recheck();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      await this.end(requestId, undefined, neverSent(goals.length, reason).results);
      throw error;
    }
  }

  refuseUsed(nonces: RelayNote['nonces']): void {
    const own = new Set(nonces.map((each) => each.join()));
    const other = [...this.open.values()].find((each) => each.note.nonces.some((nonce) => own.has(nonce.join())));
    if (other === undefined) return;
    const hash = other.txHashes.at(-1);
    throw new RequestError('relay_already_used', `another request with this nonce is on its way${hash === undefined ? '' : ` in transaction ${hash}`}`);
  }

  openOf(owner: string, requestId: string): readonly RelayNote[] {
    const taken = [...this.open];
    const own = taken.findIndex(([id]) => id === requestId);
    return taken.slice(0, own < 0 ? taken.length : own).flatMap(([, { note, over }]) => note.owner === owner && over === undefined ? [note] : []);
  }

  find(requestId: string): Promise<string> | undefined {
    return this.open.has(requestId) ? this.hashOf(requestId) : undefined;
  }

  endedLately(requestId: string): EndedRelay | undefined {
    return this.ended.get(requestId);
  }

  revertedAt(owner: string): number | undefined {
    return this.reverted.get(owner);
  }

  trouble(): string | undefined {
    const failure = this.reactor.trouble();
    if (this.reactor.held() === undefined) return failure ?? 'another process relays, or this one has just started';
    if (failure !== undefined) return failure;
    if (this.state === undefined) return 'no lane has worked on the relayer\'s key yet';
    if (this.state.trouble !== undefined) return `the lane is stuck: ${this.state.trouble.text}`;
    return this.options.now() - this.heardAtMs >= this.timings.laneSilentMs ? 'no process works on the relayer\'s lane' : undefined;
  }

  status(): DeskStatus {
    return { holds: this.reactor.held() !== undefined, open: this.open.size, trouble: this.trouble() };
  }

  /** Waits until the lane has signed a transaction of the request, or has refused it. */
  private async hashOf(requestId: string): Promise<string> {
    const { signal } = this.options;
    const end = this.options.now() + this.timings.answerWithinMs;
    for (let left = this.timings.answerWithinMs; left > 0 && !signal.aborted; left = end - this.options.now()) {
      const request = this.open.get(requestId);
      const hash = request === undefined ? this.ended.get(requestId)?.txHash : request.txHashes.at(-1);
      if (hash !== undefined) return hash;
      if (request === undefined) throw unavailable('it was not sent');
      if (request.over?.status.kind === 'refused') throw new RequestError('relay_would_revert', request.over.status.reason);
      await this.changed.wait(signal, left);
    }
    throw unavailable('the lane has not signed the transaction yet');
  }

  private async hold(standBy: StandBy): Promise<HeldLaneUser> {
    const held = await this.options.lane.hold(standBy);
    try {
      // What is open is what the outbox lists: of a request that is in doubt, it tells whether the lane was asked.
      this.open.clear();
      await this.listen(held);
      return held;
    } catch (error) {
      await held.close();
      throw error;
    }
  }

  /**
   * Reads what the lane has done, and ends the requests of the history for which nobody asks the lane any more: the process that took them ended in
   * between. The history is listed before the outbox answers, which proves that no other process had the desk until then: what another one
   * takes afterwards is not this desk's to end.
   */
  private async listen(held: HeldLaneUser): Promise<void> {
    const listed = [...this.options.history.open()];
    this.hear(await held.changes());
    this.saw(await held.state());
    for (const { requestId, claims } of listed) {
      if (this.open.has(requestId)) continue;
      const { txHash, results } = neverSent(claims.length);
      await this.end(requestId, txHash, results);
    }
  }

  private async round(held: HeldLaneUser): Promise<void> {
    await this.listen(held);
    const { history } = this.options;
    for (const [requestId, { over, asking }] of this.open) {
      if (over === undefined || asking) continue;
      const { status } = over;
      if (status.kind === 'ended' && status.ending.kind === 'mined' && status.ending.block >= history.nextBlock()) {
        this.hurry();
        continue;
      }
      await this.conclude(requestId, over, held).catch((error: unknown) => { this.waits(requestId, error); });
    }
  }

  /** An ending that cannot be judged or recorded now waits; others go on. */
  private waits(requestId: string, error: unknown): void {
    if (error instanceof OutboxUnavailable) throw error;
    const { report, chainId } = this.options;
    const text = `chain ${chainId}: the ending of relayed request ${requestId} waits: ${errorText(error)}`;
    if (text !== this.waiting) report('trouble', text);
    this.waiting = text;
  }

  /** Makes the history catch up with a transaction that has ended. */
  private hurry(): void {
    if (this.catchingUp) return;
    this.catchingUp = true;
    this.options.history.catchUp().catch(() => undefined).finally(() => { this.catchingUp = false; });
  }

  private hear(changes: readonly TrackedRequest[]): void {
    for (const change of changes) {
      const note = readRelayNote(change.note);
      if (note === undefined) continue;
      const request = this.open.get(note.requestId) ?? { note, laneId: change.id, txHashes: [], asking: false, over: undefined };
      request.txHashes = change.txHashes;
      if (change.status.kind === 'refused' || change.status.kind === 'ended') request.over = change;
      this.open.set(note.requestId, request);
    }
    if (changes.length === 0) return;
    this.changed.ring();
    this.admission.letIn();
  }

  private saw(state: LaneState | undefined): void {
    if (state !== undefined && state.seenAtMs !== this.state?.seenAtMs) this.heardAtMs = this.options.now();
    this.state = state;
  }

  /** Records how a request has ended, then forgets it. Repeated after a failure; the engine takes an ending once. */
  private async conclude(requestId: string, over: TrackedRequest, held: HeldLaneUser): Promise<void> {
    const { status, txHashes } = over;
    const note = readRelayNote(over.note);
    if (note === undefined || (status.kind !== 'refused' && status.kind !== 'ended')) return;
    const { txHash, results } = await judge(note, status, txHashes, this.options.endings);
    const succeeded = results.every((result) => result.succeeded);
    // Where somebody else has brought the message first, ours reverts and nobody is to blame.
    if (!succeeded && status.kind === 'ended' && status.ending.kind === 'mined' && !status.ending.succeeded) this.reverted.set(note.owner, this.options.now());
    await this.end(requestId, txHash, results);
    await held.forget([over.id]);
    this.ended.set(requestId, { txHash, succeeded });
    this.open.delete(requestId);
    this.changed.ring();
  }

  private async end(requestId: string, txHash: string | undefined, results: EndRelay['results'] | ReturnType<typeof neverSent>['results']): Promise<void> {
    const { history, chainId, now } = this.options;
    const sent = txHash === undefined ? {} : { txHash };
    await history.record({ kind: 'EndRelay', v: 1, at: now(), requestId, chainId, ...sent, results: results.map((result) => ({ ...result })) });
  }
}

/** Whether the lane has been asked for it and has done nothing yet. */
function isUnsigned({ asking, txHashes, over }: OpenRequest): boolean {
  return !asking && txHashes.length === 0 && over === undefined;
}

function unavailable(detail: string): RequestError {
  return new RequestError('relay_unavailable', detail);
}
