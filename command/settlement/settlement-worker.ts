/**
 * The settlement worker: reads the fills that are due from the queue, puts them into transactions, and asks a lane to send them. What happened to
 * them it writes into the queue, as `fill-state.ts` says. It never marks a fill as settled: only the indexer does, from the chain's events.
 */
import type { Log } from '../../engine/log/log.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { startReactor, type StandBy } from '../../engine/reactor.js';
import type { Report } from '../../engine/report.js';
import { orAborted } from '../../engine/waiting.js';
import type { Chain } from '../chain/chain.js';
import { NoSuchOrder } from '../feed/signed-orders.js';
import {
  OutboxUnavailable, type HeldLaneUser, type LaneRequest, type LaneUser, type RequestStatus, type TrackedRequest,
} from '../lane/requests.js';
import { createBatches, type TransactionLimits, type Batches } from './batch.js';
import { firstBatch, hasSucceeded, isOver, next, triggerOf, type FillTrigger } from './fill-state.js';
import type { Intake } from './intake.js';
import { createLaneView } from './lane-view.js';
import { createPace, type Pace } from './pace.js';
import { reportLeft, reportMissing, reportRefused } from './reports.js';
import { ASKED_TOGETHER, QUEUE_RULES, SETTLEMENT_TIMINGS, type QueueRules, type SettlementTimings } from './rules.js';
import { NOTHING_WAITS, type QueuedFill, type SettlementStore } from './store.js';
import { readNote, type SettlementNote } from './submission.js';

export interface SettlementOptions {
  readonly chain: Pick<Chain, 'chainId' | 'contracts'>;
  /** Gives the queue to the process that takes in the fills, and says how far the history has come. */
  readonly intake: Pick<Intake, 'held' | 'watermark' | 'barrier' | 'history' | 'status'>;
  readonly log: Pick<Log, 'read'>;
  /** The lane's user with purpose `settlement`. One process settles a chain; the others stand by. */
  readonly lane: LaneUser;
  /** Resolves when the history has reached the latest block that is final now. Throws ChainUnavailable. */
  readonly catchUp: () => Promise<void>;
  /** Which of the fills the chain has settled, at its newest block. Throws ChainUnavailable. */
  readonly settledOnChain: (fills: readonly number[]) => Promise<ReadonlySet<number>>;
  /** Resolves when the chain can be asked and is still the one that the history recorded. Awaited before every request to the lane. */
  readonly verify: () => Promise<void>;
  /** Throws an error when the chain cannot settle the orders of this history at all. Called before each request until it has not thrown. */
  readonly checkOrder: (order: PlaceOrder) => void;
  /** A new UUID. */
  readonly newId: () => string;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly rules?: Partial<QueueRules>;
  readonly limits?: TransactionLimits;
  readonly timings?: Partial<SettlementTimings>;
}

export interface SettlementWorkerStatus {
  /** Whether this process settles the chain; if not, another process may. */
  readonly holds: boolean;
  /** The number of fills in the queue that are in no request; counting stops at 10,000. */
  readonly waiting: number;
  /** The number of requests that are not concluded, and of the fills in them. */
  readonly transactions: number;
  readonly inHand: number;
  /** Waiting fills that go in smaller batches, since an earlier transaction did not settle them or could not be made. */
  readonly limited: number;
  /** Whether transactions go one at a time because too many reverted in a row, or one left all its fills untouched. */
  readonly slow: boolean;
  /** When the oldest request was asked that the lane has not taken yet, in milliseconds; absent when the lane has taken all. */
  readonly askedSinceMs?: number;
  /** When the fill that waits longest began to wait, in milliseconds; absent when none waits. */
  readonly oldestWaitingSinceMs?: number;
  /** What stops the worker or its lane at present, and since when; absent when nothing does. */
  readonly problem?: string;
}

export interface Settlement {
  /** Resolves when the worker has ended. Only `signal` ends it. */
  readonly done: Promise<void>;
  status(): SettlementWorkerStatus;
}

/** Starts the worker. Every failure is reported and retried with growing pauses. */
export function runSettlement(options: SettlementOptions): Settlement {
  const { chain, signal, report, timings } = options;
  const worker = new SettlementWorker(options);
  const { retryMs, maxRetryMs } = { ...SETTLEMENT_TIMINGS, ...timings };
  const reactor = startReactor({
    hold: (standBy) => worker.hold(standBy),
    round: (held) => worker.round(held),
    rest: (held) => worker.rest(held),
    release: ({ lane }) => lane.close(),
    isLoss: (error) => error instanceof OutboxUnavailable,
    backoff: { firstMs: retryMs, longestMs: maxRetryMs },
    who: `chain ${chain.chainId}: settlement`, report, signal,
  });
  return {
    done: reactor.done,
    status() {
      const holds = reactor.held() !== undefined;
      const problem = reactor.problem() ?? (holds ? worker.problemOfLane() : undefined);
      return { ...worker.status(), holds, ...problem === undefined ? {} : { problem } };
    },
  };
}

/** The queue, which belongs to the intake, and the lane. */
export interface Held { readonly store: SettlementStore; readonly lane: HeldLaneUser }

/** A request that is not concluded, as the lane last told of it. */
interface OpenRequest {
  readonly id: string;
  readonly note: SettlementNote;
  readonly askedAtMs: number;
  readonly status: RequestStatus;
}

/** What the reactor runs. Tests run its rounds themselves. */
export class SettlementWorker {
  private readonly rules: QueueRules;
  private readonly timings: SettlementTimings;
  private readonly batches: Batches;
  private readonly laneView: ReturnType<typeof createLaneView>;
  private readonly pace: Pace;
  private readonly requests = new Map<string, OpenRequest>();
  private askedMs = -Infinity;
  /** Whether the history has caught up once since the start: an earlier process's transaction may have settled fills in the last blocks. */
  private begun = false;
  private catchingUp = false;
  /** The last read of the queue: when, the feed's watermark at that time, and when to read again without new fills. */
  private looked = { atMs: -Infinity, watermark: -1, againMs: -Infinity };
  private counted = { ...NOTHING_WAITS, atMs: -Infinity, isCurrent: false };

  constructor(private readonly options: SettlementOptions) {
    const { chain, log, intake, checkOrder, newId, now, limits } = options;
    this.rules = { ...QUEUE_RULES, ...options.rules };
    this.timings = { ...SETTLEMENT_TIMINGS, ...options.timings };
    this.batches = createBatches({ chain, log, history: () => intake.history(), checkOrder, newId, now, limits });
    this.laneView = createLaneView(this.timings, now);
    this.pace = createPace(this.rules);
  }

  /** Takes the queue and the lane, and compares them: requests of an earlier process, or of this one before it lost them, may be under way. */
  async hold(standBy: StandBy): Promise<Held> {
    const store = await this.options.intake.held(standBy.signal);
    const lane = await this.options.lane.hold(standBy);
    try {
      // Another process may have taken over the intake while this one waited for the lane.
      store.check();
      await this.recover({ store, lane });
      return { store, lane };
    } catch (error) {
      await lane.close();
      throw error;
    }
  }

  /** One round of work. Resolves with true when something was done, so that there may be more to do. */
  async round(held: Held): Promise<boolean> {
    const { signal, catchUp, verify } = this.options;
    held.store.check();
    if (this.laneView.isRung()) await this.hear(held.store, await held.lane.changes());
    if (this.laneView.isDue()) this.laneView.seen(await held.lane.state());
    await this.conclude(held);
    await this.count(held.store);
    const { asked, open } = this.openCounts();
    const room = Math.min(this.timings.maxAsked - asked, this.timings.maxOpen - open);
    if (room <= 0 || !this.pace.allows(this.requests.size, this.options.now())) {
      if (this.looked.watermark !== this.options.intake.watermark()) this.counted.isCurrent = false;
      return false;
    }
    // An idle lane gets its first batch at once.
    const most = asked === 0 ? 1 : Math.min(room, ASKED_TOGETHER);
    const due = await this.due(held.store, most);
    if (due.length === 0) return false;
    if (!this.begun) {
      await orAborted(catchUp(), signal);
      this.begun = true;
      return true;
    }
    await orAborted(verify(), signal);
    await this.ask(held, due, most);
    return true;
  }

  async rest({ lane }: Held): Promise<void> {
    if (await lane.wait(this.options.signal, this.timings.pollMs) === 'rung') this.laneView.hasRung();
  }

  problemOfLane = (): SettlementWorkerStatus['problem'] => this.laneView.problem(this.openCounts().asked > 0);

  status(): Omit<SettlementWorkerStatus, 'holds' | 'problem'> {
    // A process that stands by does not know what the other one does.
    const standsBy = this.options.intake.status().standby;
    const requests = standsBy ? [] : [...this.requests.values()];
    const { waiting, limited, oldestSinceMs } = standsBy ? NOTHING_WAITS : this.counted;
    const asked = requests.filter(({ status }) => status.kind === 'waiting').map(({ askedAtMs }) => askedAtMs);
    return {
      waiting, limited, slow: this.pace.isSlow(),
      transactions: requests.length, inHand: requests.reduce((sum, { note }) => sum + note.fills.length, 0),
      ...asked.length === 0 ? {} : { askedSinceMs: Math.min(...asked) },
      ...oldestSinceMs === undefined ? {} : { oldestWaitingSinceMs: oldestSinceMs },
    };
  }

  /** Makes the queue agree with the requests that the lane lists. */
  private async recover({ store, lane }: Held): Promise<void> {
    const { chain: { chainId }, report } = this.options;
    const listed = await lane.changes();
    this.laneView.seen(await lane.state());
    const before = new Map(this.requests);
    this.requests.clear();
    for (const { id, note, askedAtMs } of listed) {
      const settlement = readNote(note);
      if (settlement === undefined) report('alert', `chain ${chainId}: the note of request ${id} names no fills: the request is ignored`);
      else this.requests.set(id, { id, note: settlement, askedAtMs, status: before.get(id)?.status ?? { kind: 'waiting' } });
    }
    const named = new Set([...this.requests.values()].flatMap(({ note }) => note.fills));
    const unknown = (await store.requested(chainId)).filter(({ fill }) => !named.has(fill));
    const found = (await store.fills(chainId, [...named])).filter(({ state }) => state !== 'requested');
    this.looked.againMs = -Infinity;
    await this.change(store, [...this.moved(unknown, 'unknown to the lane'), ...this.moved(found, 'found with the lane')]);
    await this.hear(store, listed);
  }

  private async hear(store: SettlementStore, changed: readonly TrackedRequest[]): Promise<void> {
    this.laneView.heard();
    const reverted: { readonly note: SettlementNote; readonly others: boolean }[] = [];
    for (const { id, status } of changed) {
      const request = this.requests.get(id);
      if (request === undefined || request.status.kind === 'ended') continue;
      this.requests.set(id, { ...request, status });
      if (status.kind !== 'ended' || status.ending.kind === 'lost') continue;
      this.hurry();
      if (!status.ending.succeeded) reverted.push({ note: request.note, others: this.openCounts().open > 0 });
    }
    for (const { note, others } of reverted) {
      const fills = await store.fills(this.options.chain.chainId, note.fills);
      // A fill that has come back alone before says nothing about the others.
      if (fills.length === 0 || fills.some(({ tries }) => tries === 0)) this.pace.reverted(others, this.options.now());
    }
  }

  /** Makes the history catch up at once: whether a mined transaction settled its fills is known only when its block is recorded. */
  private hurry(): void {
    if (this.catchingUp) return;
    this.catchingUp = true;
    this.options.catchUp().catch(() => undefined).finally(() => { this.catchingUp = false; });
  }

  /** Concludes requests that were refused, were lost, or were mined in a block that the history has recorded: what they left goes on in the queue. */
  private async conclude({ store, lane }: Held): Promise<void> {
    const { chain: { chainId }, intake } = this.options;
    const nextBlock = (intake.barrier(chainId)?.block ?? -1) + 1;
    const over = [...this.requests.values()].filter(({ status }) => isOver(status, nextBlock));
    if (over.length === 0) return;
    const inHand = (await store.fills(chainId, over.flatMap(({ note }) => note.fills))).filter(({ state }) => state === 'requested');
    const byNumber = new Map(inHand.map((fill) => [fill.fill, fill]));
    const left = over.map((request) => ({ request, fills: request.note.fills.flatMap((fill) => byNumber.get(fill) ?? []) }));
    // Another transaction may have settled what a successful one has left, and its block may be still to come.
    const settled = await this.askChain(left.flatMap(({ request, fills }) => hasSucceeded(request.status) ? fills : []));
    const moved = left.map(({ request: { status, note }, fills }) => {
      const trigger = triggerOf(status, { fills: note.fills.length, left: fills.length });
      return fills.flatMap((fill) => this.moved([fill], settled.has(fill.fill) ? 'settled by another' : trigger, note.fills.length));
    });
    await this.change(store, moved.flat());
    await lane.forget(over.map(({ id }) => id));
    left.forEach(({ request, fills }, i) => { this.concluded(request, { left: fills, moved: moved[i] ?? [], settled }); });
  }

  private concluded(
    { id, note, status }: OpenRequest,
    { left, moved, settled }: { left: readonly QueuedFill[]; moved: readonly QueuedFill[]; settled: ReadonlySet<number> },
  ): void {
    const { chain: { chainId }, report, now } = this.options;
    this.requests.delete(id);
    const alone = note.fills.length === 1 ? moved[0]?.tries ?? 0 : 0;
    if (status.kind === 'refused' && left.length > 0) reportRefused({ fills: note.fills, reason: status.reason, alone }, { report, chainId });
    if (status.kind !== 'ended') return;
    if (left.length === 0) this.batches.permitsUsed(note.permits);
    const unsettled = left.map(({ fill }) => fill);
    if (hasSucceeded(status)) {
      // A token that refuses everybody leaves every fill untouched: no fill is the cause.
      if (left.length === note.fills.length && !unsettled.some((fill) => settled.has(fill))) this.pace.stopped(now());
      else this.pace.settled();
    }
    reportLeft({ id, fills: note.fills, ending: status.ending, unsettled, settled, alone }, { report, chainId });
  }

  private async count(store: SettlementStore): Promise<void> {
    const { now, chain: { chainId } } = this.options;
    const sinceMs = now() - this.counted.atMs;
    if (this.counted.isCurrent || (sinceMs >= 0 && sinceMs < this.timings.countMs)) return;
    this.counted = { ...await store.counts(chainId), atMs: now(), isCurrent: true };
  }

  /** The fills that may go now, in order, as many as `most` requests may need. The chain is asked about doubtful ones. */
  private async due(store: SettlementStore, most: number): Promise<readonly QueuedFill[]> {
    const { now, intake, chain: { chainId } } = this.options;
    const { maxFills, maxPauseMs, maxReturned } = this.rules;
    const [nowMs, watermark] = [now(), intake.watermark()];
    if (watermark === this.looked.watermark && nowMs < this.looked.againMs && nowMs >= this.looked.atMs) return [];
    const found = await store.due(chainId, { nowMs, maxPauseMs, withNew: this.counted.returned < maxReturned, limit: maxFills * most });
    const fills = found.filter(({ state }) => state !== 'doubtful');
    const { fromMs } = firstBatch(fills, { nowMs, askedMs: this.askedMs, rules: this.rules });
    this.looked = { atMs: nowMs, watermark, againMs: Math.min(fromMs, this.pausedUntilMs()) };
    if (found.length > 0) this.counted.isCurrent = false;
    if (fills.length < found.length) {
      await this.askAgain(store, found.filter(({ state }) => state === 'doubtful'));
      return this.due(store, most);
    }
    return fromMs <= nowMs ? fills : [];
  }

  /** Asks the chain about doubtful fills. Where somebody's transaction has settled one, the tokens do not refuse everybody. */
  private async askAgain(store: SettlementStore, doubtful: readonly QueuedFill[]): Promise<void> {
    const settled = await this.askChain(doubtful);
    if (settled.size > 0) this.pace.settled();
    await this.change(store, doubtful.flatMap((fill) => this.moved([fill], settled.has(fill.fill) ? 'settled by another' : 'not settled after all')));
  }

  /** When the next returned or doubtful fill is due, as far as is known. */
  private pausedUntilMs(): number {
    const [{ nextDueMs = Infinity }, nowMs] = [this.counted, this.options.now()];
    if (nextDueMs > nowMs) return nextDueMs;
    this.counted.isCurrent = false;
    return nowMs + this.timings.countMs;
  }

  /** Asks the lane for the due batches, at most `most` of them, in one request. */
  private async ask({ store, lane }: Held, due: readonly QueuedFill[], most: number): Promise<void> {
    const { signal, now } = this.options;
    const requests: LaneRequest[] = [];
    const changed: QueuedFill[] = [];
    let failure: unknown;
    let isHurried = false;
    let rest = due;
    while (requests.length < most && failure === undefined) {
      const { batch, fromMs } = firstBatch(rest, { nowMs: now(), askedMs: this.askedMs, rules: this.rules });
      if (batch.length === 0 || (fromMs > now() && !isHurried)) break;
      try {
        const request = await this.batches.prepare(batch, this.laneView.blockGasLimit());
        const { id, note } = request;
        requests.push(request);
        this.requests.set(id, { id, note, askedAtMs: now(), status: { kind: 'waiting' } });
        changed.push(...this.moved(rest.slice(0, note.fills.length), 'asked'));
        rest = rest.slice(note.fills.length);
        this.askedMs = now();
        isHurried = false;
      } catch (error) {
        if (error instanceof NoSuchOrder) {
          const unfit = this.orderMissing(batch, error);
          changed.push(...unfit);
          rest = rest.filter(({ fill }) => !unfit.some((each) => each.fill === fill));
          // What was due beside it still is.
          isHurried = true;
        } else failure = error;
      }
    }
    // The queue first: if the outbox fails in between, the next hold finds that the lane does not know the request.
    await this.change(store, changed);
    if (requests.length > 0 && !signal.aborted) await lane.ask(requests);
    const isAllAsked = rest.length === 0 && due.length < this.rules.maxFills * most && changed.every(({ state }) => state === 'requested');
    this.looked.againMs = isAllAsked ? this.pausedUntilMs() : -Infinity;
    if (isAllAsked) this.nothingNewWaits();
    if (failure !== undefined) throw failure;
  }

  /** All that was due is asked: unless something has come back, nothing waits, which need not be counted. */
  private nothingNewWaits(): void {
    const { returned, nextDueMs, atMs } = this.counted;
    if (returned === 0 && nextDueMs === undefined && atMs > -Infinity) this.counted = { ...NOTHING_WAITS, atMs: this.options.now(), isCurrent: true };
  }

  private orderMissing(batch: readonly QueuedFill[], { positions, message }: NoSuchOrder): QueuedFill[] {
    const { chain: { chainId }, report } = this.options;
    const unfit = batch.filter(({ buyNumber, sellNumber }) => positions.has(buyNumber) || positions.has(sellNumber));
    const moved = this.moved(unfit, 'order missing', 1);
    reportMissing({ fills: moved.filter(({ tries }) => tries === 1).map(({ fill }) => fill), message }, { report, chainId });
    return moved;
  }

  private moved(fills: readonly QueuedFill[], trigger: FillTrigger, batchSize = fills.length): QueuedFill[] {
    return fills.map((fill) => next(fill, trigger, { nowMs: this.options.now(), batchSize, rules: this.rules }));
  }

  private async change(store: SettlementStore, fills: readonly QueuedFill[]): Promise<void> {
    if (fills.length === 0) return;
    await store.change(this.options.chain.chainId, fills);
    this.counted.isCurrent = false;
    if (fills.every(({ state }) => state === 'requested')) return;
    this.looked.againMs = -Infinity;
    this.counted.atMs = -Infinity;
  }

  private async askChain(fills: readonly QueuedFill[]): Promise<ReadonlySet<number>> {
    const { settledOnChain, signal } = this.options;
    return fills.length === 0 ? new Set() : await orAborted(settledOnChain(fills.map(({ fill }) => fill)), signal);
  }

  /** How many requests the lane has not taken yet (`asked`), and how many have not ended (`open`). */
  private openCounts(): { readonly asked: number; readonly open: number } {
    const count = (kind: RequestStatus['kind']): number => [...this.requests.values()].filter(({ status }) => status.kind === kind).length;
    return { asked: count('waiting'), open: count('waiting') + count('sent') };
  }
}
