/**
 * The settlement worker: puts fills that the chain has not settled yet into transactions, in order, and asks a lane to send them. It never
 * marks a fill as settled: only the indexer does, from the chain's events.
 */
import type { PlaceOrder } from '../../engine/records/commands.js';
import type { Log } from '../../engine/log/log.js';
import type { UnsettledFill } from '../../engine/run/unsettled-fills.js';
import { startReactor, type StandBy } from '../../engine/reactor.js';
import { orAborted } from '../../engine/waiting.js';
import type { Chain } from '../chain/chain.js';
import type { Report } from '../../engine/report.js';
import { NoSuchOrder, createSignedOrders } from '../feed/signed-orders.js';
import { OutboxUnavailable, type HeldLaneUser, type LaneRequest, type LaneState, type LaneUser, type TrackedRequest } from '../lane/requests.js';
import { BATCH_LIMITS, composeBatch, limitsWithin, type BatchLimits } from './batch.js';
import { encodeSettleBatch } from './settle-calldata.js';
import { QUEUE_RULES, SettlementQueue, type FoundRequest, type Passed, type QueueRules, type QueueStatus } from './settlement-queue.js';
import { readNote, type SettlementNote } from './submission.js';
import { tellOf } from './tell.js';

/** What the worker reads of the history. Reads within one turn of the event loop see the same state. */
export interface SettlementView {
  /** All of the chain's unsettled fills below this number are in `unsettled`. */
  readonly nextFill: () => number;
  /** The chain's unsettled fills with number `from` or higher, in ascending order; not all of them while very many wait. */
  readonly unsettled: (from: number) => Iterable<UnsettledFill>;
  /** The history has every fact of the blocks below this one. */
  readonly nextBlock: () => number;
  /** A recent log position and the digest up to it. There has been a fill. */
  readonly history: () => { readonly position: number; readonly digest: Uint8Array };
}

export interface SettlementOptions {
  readonly chain: Pick<Chain, 'chainId' | 'contracts'>;
  readonly view: SettlementView;
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
  readonly limits?: BatchLimits;
  readonly timings?: Partial<SettlementTimings>;
}

export interface SettlementTimings {
  readonly pollMs: number;
  /** The first pause after a failure; doubled with each further failure, up to `maxRetryMs`. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** How often the lane's state is read without a wake-up, since a wake-up may be lost. */
  readonly laneLookMs: number;
  /** After this time without a sign of a process that works on the lane, the worker reports trouble. */
  readonly laneSilentMs: number;
  /** The most transactions that have not ended. */
  readonly maxOpen: number;
  /** The most requests that the lane has not taken yet. */
  readonly maxAsked: number;
}

export const SETTLEMENT_TIMINGS: SettlementTimings = {
  pollMs: 25, retryMs: 250, maxRetryMs: 10_000, laneLookMs: 500, laneSilentMs: 30_000, maxOpen: 256, maxAsked: 16,
};

export interface SettlementStatus extends QueueStatus {
  /** Whether this process settles the chain; if not, another process may. */
  readonly holds: boolean;
  /** The number of waiting fills; counting stops at 10,000. */
  readonly waiting: number;
  /** What stops the worker or its lane at present, and since when; absent when nothing does. */
  readonly trouble?: string;
}

export interface Settlement {
  /** Resolves when the worker has ended. Only `signal` ends it. */
  readonly done: Promise<void>;
  status(): SettlementStatus;
}

/** Batches per request to the lane: enough to share a commit, and few enough that the lane works while the next ones are made. */
const ASKED_TOGETHER = 4;
/** How many orders are remembered whose permits are final. Forgetting one only costs some gas. */
const MAX_USED_PERMITS = 10_000;

/** Starts the worker. Every failure is reported and retried with growing pauses. */
export function runSettlement(options: SettlementOptions): Settlement {
  const { chain, view, signal, report, now } = options;
  const timings = { ...SETTLEMENT_TIMINGS, ...options.timings };
  const queue = new SettlementQueue(view.unsettled, { ...QUEUE_RULES, ...options.rules });
  const worker = new Worker(options, { queue, timings });
  const reactor = startReactor({
    hold: (standBy) => worker.hold(standBy),
    round: (held) => worker.round(held),
    rest: (held) => worker.rest(held),
    release: (held) => held.close(),
    isLoss: (error) => error instanceof OutboxUnavailable,
    backoff: { firstMs: timings.retryMs, longestMs: timings.maxRetryMs },
    who: `chain ${chain.chainId}: settlement`, report, signal,
  });
  return {
    done: reactor.done,
    status() {
      queue.observe(view.nextFill(), now());
      const holds = reactor.held() !== undefined;
      const trouble = reactor.trouble() ?? (holds ? worker.troubleOfLane() : undefined);
      return { ...queue.status(), waiting: queue.waiting(), holds, ...trouble === undefined ? {} : { trouble } };
    },
  };
}

class Worker {
  private readonly batches: ReturnType<typeof createBatches>;
  private readonly laneView: ReturnType<typeof createLaneView>;
  /** Concluded and refused requests that the outbox still lists. They are forgotten before the next request: no fill may be listed twice. */
  private forgettable: string[] = [];
  /** Whether the history has caught up once since the start: an earlier process's transaction may have settled fills in the last blocks. */
  private begun = false;
  private catchingUp = false;
  /** Successful transactions that are not told of yet: the chain is to say whether other ones have settled the fills that they left. */
  private untold: Passed[] = [];

  constructor(
    private readonly options: SettlementOptions,
    private readonly parts: { readonly queue: SettlementQueue; readonly timings: SettlementTimings },
  ) {
    this.batches = createBatches(options);
    this.laneView = createLaneView(parts.timings, options.now);
  }

  /** One round of work. Resolves with true when something was done, so that there may be more to do. */
  async round(held: HeldLaneUser): Promise<boolean> {
    const { view, now, signal, catchUp, verify } = this.options;
    const { queue, timings } = this.parts;
    if (this.laneView.isRung()) this.hear(await held.changes());
    if (this.laneView.isDue()) this.laneView.seen(await held.state());
    queue.observe(view.nextFill(), now());
    for (const passed of queue.pass(view.nextBlock(), now())) this.conclude(passed);
    if (this.forgettable.length > 0) {
      await held.forget(this.forgettable);
      this.forgettable = [];
    }
    await this.lookAtDoubts();
    const { asked, open } = queue.counts();
    const room = Math.min(timings.maxAsked - asked, timings.maxOpen - open);
    if (room <= 0 || queue.due(now()).length === 0) return false;
    if (!this.begun) {
      await orAborted(catchUp(), signal);
      this.begun = true;
      return true;
    }
    await orAborted(verify(), signal);
    // An idle lane gets its first batch at once.
    await this.ask(held, asked === 0 ? 1 : Math.min(room, ASKED_TOGETHER));
    return true;
  }

  async rest(held: HeldLaneUser): Promise<void> {
    if (await held.wait(this.options.signal, this.parts.timings.pollMs) === 'rung') this.laneView.hasRung();
  }

  troubleOfLane(): SettlementStatus['trouble'] {
    return this.laneView.trouble(this.parts.queue.counts().asked > 0);
  }

  /** Takes the ownership and restores the open requests: those of an earlier process, or of this one before it lost the outbox. */
  async hold(standBy: StandBy): Promise<HeldLaneUser> {
    const { lane, view, now } = this.options;
    const held = await lane.hold(standBy);
    try {
      const requests = await held.changes();
      this.laneView.seen(await held.state());
      this.forgettable = [];
      this.parts.queue.restore(requests.flatMap((request) => this.found(request)), { nextFill: view.nextFill(), nowMs: now() });
      this.hear(requests);
      return held;
    } catch (error) {
      await held.close();
      throw error;
    }
  }

  private found({ id, note, askedAtMs }: TrackedRequest): FoundRequest[] {
    const settlement = readNote(note);
    if (settlement !== undefined) return [{ id, note: settlement, askedAtMs }];
    this.options.report('alarm', `chain ${this.options.chain.chainId}: the note of request ${id} names no fills: the request is ignored`);
    return [];
  }

  /** Asks the lane for the due batches, at most `most` of them, in one request. */
  private async ask(held: HeldLaneUser, most: number): Promise<void> {
    const { signal, now } = this.options;
    const { queue } = this.parts;
    const requests: LaneRequest[] = [];
    let failure: unknown;
    for (let due = queue.due(now()); due.length > 0 && requests.length < most && failure === undefined; due = queue.due(now())) {
      try {
        const request = await this.batches.prepare(due, this.laneView.blockGasLimit());
        // In hand before the request: if the outbox fails meanwhile, its list decides which fills are in hand.
        queue.take(request, now());
        requests.push(request);
      } catch (error) {
        if (error instanceof NoSuchOrder) this.setAside(due, error);
        else failure = error;
      }
    }
    if (requests.length > 0 && !signal.aborted) await held.ask(requests);
    if (failure !== undefined) throw failure;
  }

  private hear(changed: readonly TrackedRequest[]): void {
    const { queue } = this.parts;
    const { now } = this.options;
    this.laneView.heard();
    for (const { id, status, note } of changed) {
      switch (status.kind) {
        case 'waiting': break;
        case 'sent': queue.sent(id); break;
        case 'refused': this.refused(id, readNote(note)?.fills ?? [], status.reason); break;
        case 'ended':
          queue.over(id, status.ending, now());
          if (status.ending.kind === 'mined') this.hurry();
      }
    }
  }

  private refused(id: string, fills: readonly number[], reason: string): void {
    const { chain: { chainId }, report, now } = this.options;
    const alone = this.parts.queue.unsendable(id, now());
    if (alone === undefined) return;
    this.forgettable.push(id);
    if (alone === 0) report('trouble', `chain ${chainId}: a batch of ${fills.length} fills cannot be sent; its fills go in smaller batches: ${reason}`);
    if (alone === 1) report('alarm', `chain ${chainId}: fill ${fills[0]} cannot be sent even alone; it is tried again with growing pauses: ${reason}`);
  }

  private setAside(due: readonly UnsettledFill[], { positions, message }: NoSuchOrder): void {
    const { chain: { chainId }, report, now } = this.options;
    const unfit = due.filter(({ buyNumber, sellNumber }) => positions.has(buyNumber) || positions.has(sellNumber));
    const fresh = this.parts.queue.setAside({ due: due.map(({ fill }) => fill), unfit: unfit.map(({ fill }) => fill) }, now());
    if (fresh.length === 0) return;
    report('alarm', `chain ${chainId}: fills ${fresh.join(', ')} cannot be settled and are tried again with growing pauses; other fills go on: ${message}`);
  }

  /** Makes the history catch up at once: whether a mined transaction settled its fills is known only when its block is recorded. */
  private hurry(): void {
    if (this.catchingUp) return;
    this.catchingUp = true;
    this.options.catchUp().catch(() => undefined).finally(() => { this.catchingUp = false; });
  }

  private conclude(passed: Passed): void {
    const { report, chain: { chainId } } = this.options;
    if (passed.ending.kind === 'mined' && passed.ending.succeeded) this.untold.push(passed);
    else tellOf(passed, new Set(), { report, chainId });
    this.forgettable.push(passed.id);
    if (passed.left.length === 0) this.batches.permitsUsed(passed.note.permits);
  }

  /** Asks the chain about fills that successful transactions left unsettled, and tells of those transactions what it has said. */
  private async lookAtDoubts(): Promise<void> {
    const { settledOnChain, now, signal, report, chain: { chainId } } = this.options;
    const asked = this.parts.queue.doubtful(now());
    const settled = asked.length === 0 ? new Set<number>() : await orAborted(settledOnChain(asked), signal);
    this.parts.queue.looked({ asked, settled }, now());
    for (const passed of this.untold.splice(0)) tellOf(passed, settled, { report, chainId });
  }
}

/** The lane's last published state, and when it is to be read again. */
function createLaneView({ laneLookMs, laneSilentMs }: SettlementTimings, now: () => number) {
  let state: LaneState | undefined;
  let heardAtMs = now();
  let lookedAtMs = -Infinity;
  let rung = true;
  /** Also true when the clock was set back. */
  const isDue = (): boolean => now() - lookedAtMs >= laneLookMs || now() < lookedAtMs;
  return {
    hasRung: (): void => { rung = true; },
    /** Whether there may be changes: the lane rang, or the last look was too long ago. */
    isRung: (): boolean => rung || isDue(),
    heard: (): void => { rung = false; },
    isDue,
    seen(latest: LaneState | undefined): void {
      lookedAtMs = now();
      if (latest?.seenAtMs !== state?.seenAtMs) heardAtMs = lookedAtMs;
      state = latest;
    },
    blockGasLimit: () => state?.blockGasLimit,
    /** Silence of the lane counts as trouble only while requests wait for it. */
    trouble(waits: boolean): SettlementStatus['trouble'] {
      if (waits && now() - heardAtMs >= laneSilentMs) return 'no process works on the lane';
      return state?.trouble?.text;
    },
  };
}

type BatchParts = Pick<SettlementOptions, 'chain' | 'view' | 'log' | 'now' | 'newId' | 'limits' | 'checkOrder'>;

/** Makes transactions of fills, and remembers which permits are already on the chain. */
function createBatches({ chain, view, log, now, newId, checkOrder, limits = BATCH_LIMITS }: BatchParts) {
  const signedOrders = createSignedOrders(log);
  const used = new Set<number>();
  let checked = false;
  const check = (orders: Iterable<PlaceOrder>): void => {
    for (const order of orders) {
      if (checked) return;
      checkOrder(order);
      checked = true;
    }
  };
  return {
    /** A request for as many of the fills as fit. Throws LogUnavailable, NoSuchOrder, and what `checkOrder` throws. */
    async prepare(due: readonly UnsettledFill[], blockGasLimit: bigint | undefined): Promise<LaneRequest & { readonly note: SettlementNote }> {
      const orders = await signedOrders.read(new Set(due.flatMap(({ buyNumber, sellNumber }) => [buyNumber, sellNumber])));
      check(orders.values());
      const { fills, permits, gasLimit, content } = composeBatch({
        fills: due, orders, nowS: Math.floor(now() / 1_000), permitUsed: (number) => used.has(number),
        limits: blockGasLimit === undefined ? limits : limitsWithin(limits, blockGasLimit),
      });
      const data = encodeSettleBatch({ ...content, history: view.history() });
      const note = { fills: fills.map(({ fill }) => fill), permits };
      return { id: newId(), to: chain.contracts.settlement, data, gasLimit: BigInt(gasLimit), note };
    },
    /** Notes that the permits of these orders were in a final transaction. */
    permitsUsed(orderNumbers: readonly number[]): void {
      for (const number of orderNumbers) used.add(number);
      for (const number of used) {
        if (used.size <= MAX_USED_PERMITS) break;
        used.delete(number);
      }
    },
  };
}
