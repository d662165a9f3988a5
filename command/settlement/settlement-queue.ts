/**
 * Decides which fills are settled next. It keeps track of fills that wait, that are in a transaction, or that could not be settled. It does
 * no input or output, so the same sequence of calls always gives the same batches.
 *
 * A fill is in hand from the request for its transaction until the transaction has ended and the history has recorded the transaction's
 * block. A fill that is still unsettled then becomes free again. Fills that were never in a transaction are not stored here: they are
 * read from the intake, from a fill number on, so an outage of the chain needs no memory.
 */
import type { UnsettledFill } from '../../engine/run/unsettled-fills.js';
import { backoffMs } from '../../engine/waiting.js';
import type { Ending } from '../lane/requests.js';
import { createArrivals } from './arrivals.js';
import { createDoubts, type Doubts, type Look } from './doubts.js';
import type { SettlementNote } from './submission.js';

export interface QueueRules {
  /** The most fills per batch. */
  readonly maxFills: number;
  /** How long the first fill of a batch may wait for more fills. */
  readonly gatherMs: number;
  /** When no batch was taken for so long, the next fills go at once: until they settle, a trader can take away what they need. */
  readonly quietMs: number;
  /** The first pause of a fill that was alone in its batch and was not settled; each further pause is twice as long. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
  /**
   * After this many reverted transactions in a row, or one that succeeds and leaves all its fills untouched, transactions go one at a time,
   * with pauses between them.
   */
  readonly slowAfter: number;
  readonly maxSlowPauseMs: number;
  /** While this many returned fills wait, no new fills are taken. */
  readonly maxReturned: number;
}

export const QUEUE_RULES: QueueRules = {
  maxFills: 50, gatherMs: 250, quietMs: 250, pauseMs: 1_000, maxPauseMs: 600_000, slowAfter: 8, maxSlowPauseMs: 60_000, maxReturned: 1_000,
};

/** A transaction that has ended and whose block the history has recorded; `left` are its fills that are still unsettled. */
export interface Passed {
  /** The request's id. */
  readonly id: string;
  readonly note: SettlementNote;
  readonly ending: Ending;
  readonly left: readonly number[];
  /** How often in a row the fill has returned as the only one of its transaction; 0 for a larger batch. */
  readonly alone: number;
}

export interface QueueStatus {
  readonly transactions: number;
  readonly inHand: number;
  /** Fills that go in smaller batches, since an earlier transaction did not settle them or could not be made. */
  readonly troubled: number;
  /** Whether transactions go one at a time because too many reverted in a row, or one left all its fills untouched. */
  readonly slow: boolean;
  /** When the oldest request was asked that the lane has not taken yet, in milliseconds; absent when the lane has taken all. */
  readonly askedSinceMs?: number;
  /** When the fill that waits longest began to wait, in milliseconds; absent when none waits. */
  readonly oldestWaitingSinceMs?: number;
}

/** A request that is not concluded yet. */
interface Hand {
  readonly note: SettlementNote;
  readonly askedAtMs: number;
  /** Whether the lane has taken it. */
  readonly sent: boolean;
  readonly ending?: Ending | undefined;
}

/** A request found in the outbox after a restart, or after the outbox was not available. */
export interface FoundRequest {
  readonly id: string;
  readonly note: SettlementNote;
  readonly askedAtMs: number;
}

interface Trouble {
  /** The most fills of a batch that contains this fill. */
  readonly limit: number;
  readonly alone: number;
  readonly notBeforeMs: number;
}

const COUNTED = 10_000;

/** The queue of one chain. */
export class SettlementQueue {
  /** By request id. */
  readonly #hands = new Map<string, Hand>();
  /** No fill with this number or a higher one has been in a transaction, but for those in `#early`. */
  #untouched = 0;
  /** Fills of requests found in the outbox that the history had not come to yet. */
  readonly #early = new Set<number>();
  /** All unsettled fills below this number are there to be read. */
  #known = 0;
  /** Fills that are free after a transaction, with the time since when they wait: below `#untouched`, but for those that were in `#early`. */
  readonly #returned = new Map<number, number>();
  readonly #troubles = new Map<number, Trouble>();
  readonly #doubts: Doubts;
  readonly #arrivals = createArrivals();
  readonly #pace: ReturnType<typeof createPace>;
  #lastTakenMs = -Infinity;

  /** `unsettled` gives the chain's unsettled fills with number `from` or higher, in ascending order. */
  constructor(private readonly unsettled: (from: number) => Iterable<UnsettledFill>, private readonly rules: QueueRules = QUEUE_RULES) {
    this.#doubts = createDoubts(rules);
    this.#pace = createPace(rules);
  }

  /**
   * Replaces the requests in hand by those that the outbox has, whether an earlier process or this one asked for them. They may have fills
   * that are still to come: `nextFill` is as in `observe`.
   */
  restore(found: readonly FoundRequest[], { nextFill, nowMs }: { readonly nextFill: number; readonly nowMs: number }): void {
    this.observe(nextFill, nowMs);
    this.#early.clear();
    const before = new Map(this.#hands);
    this.#hands.clear();
    for (const { id, note, askedAtMs } of found) this.#hands.set(id, { note, askedAtMs, sent: false, ending: before.get(id)?.ending });
    const held = new Set(found.flatMap(({ note }) => note.fills));
    for (const fill of held) {
      if (fill < nextFill) this.#untouched = Math.max(this.#untouched, fill + 1);
      else this.#early.add(fill);
      this.#returned.delete(fill);
      this.#doubts.forget(fill);
    }
    for (const { fill } of this.unsettled(0)) {
      if (fill >= this.#untouched) break;
      if (!held.has(fill) && !this.#returned.has(fill)) this.#returned.set(fill, nowMs);
    }
  }

  /** Notes the arrival of fills: all unsettled ones with numbers below `nextFill` are there to be read. */
  observe(nextFill: number, nowMs: number): void {
    this.#known = nextFill;
    this.#arrivals.add(nextFill, nowMs);
  }

  /** The fills of the next batch, in order; empty when no batch is due. */
  due(nowMs: number): readonly UnsettledFill[] {
    if (!this.#pace.allows(this.#hands.size, nowMs)) return [];
    const batch: UnsettledFill[] = [];
    let limit = 0;
    let grows = true;
    for (const fill of this.#candidates(nowMs)) {
      const own = this.#troubles.get(fill.fill)?.limit ?? this.rules.maxFills;
      if (batch.length === 0) limit = own;
      else if (own !== limit) grows = false;
      if (grows) batch.push(fill);
      if (batch.length === limit) grows = false;
      if (!grows) break;
    }
    const [first] = batch;
    if (first === undefined) return batch;
    const isDue = !grows || this.#returned.has(first.fill) || this.#lastTakenMs + this.rules.quietMs <= nowMs
      || this.#arrivals.at(first.fill, nowMs) + this.rules.gatherMs <= nowMs;
    return isDue ? batch : [];
  }

  /** Notes that a request for the first of the due fills is made. */
  take({ id, note }: { id: string; note: SettlementNote }, nowMs: number): void {
    this.#hands.set(id, { note, askedAtMs: nowMs, sent: false });
    this.#lastTakenMs = nowMs;
    for (const fill of note.fills) if (!this.#returned.delete(fill)) this.#untouched = Math.max(this.#untouched, fill + 1);
    this.#arrivals.dropBelow(this.#untouched);
  }

  /** Notes that the lane has taken the request. */
  sent(id: string): void {
    const hand = this.#hands.get(id);
    if (hand !== undefined) this.#hands.set(id, { ...hand, sent: true });
  }

  /**
   * The lane refused the request. Its fills go again in smaller batches; a single fill is tried again with growing pauses. Returns how
   * often in a row the fill has returned alone: 0 for a larger batch, undefined for a request that is not in hand.
   */
  unsendable(id: string, nowMs: number): number | undefined {
    const hand = this.#hands.get(id);
    if (hand === undefined) return undefined;
    this.#hands.delete(id);
    let alone = 0;
    for (const fill of hand.note.fills) alone = this.#comeBack(fill, hand.note.fills.length, nowMs);
    return alone;
  }

  /**
   * No transaction can be made with the `unfit` among the due fills. They are tried again alone, with growing pauses; the others are due at
   * once. Returns the unfit fills for which this is the first time.
   */
  setAside({ due, unfit }: { due: readonly number[]; unfit: readonly number[] }, nowMs: number): readonly number[] {
    for (const fill of due) {
      if (!this.#returned.has(fill)) this.#untouched = Math.max(this.#untouched, fill + 1);
      this.#returned.set(fill, nowMs);
    }
    this.#arrivals.dropBelow(this.#untouched);
    return unfit.filter((fill) => this.#comeBack(fill, 1, nowMs) === 1);
  }

  /** Notes how the request's transaction ended. Repeated calls change nothing. */
  over(id: string, ending: Ending, nowMs: number): void {
    const hand = this.#hands.get(id);
    if (hand === undefined || hand.ending !== undefined) return;
    this.#hands.set(id, { ...hand, sent: true, ending });
    if (ending.kind === 'lost') return;
    const others = [...this.#hands.values()].some((other) => other.ending === undefined);
    if (!ending.succeeded && !hand.note.fills.every((fill) => this.#aloneOf(fill) > 0)) this.#pace.reverted({ others, nowMs });
  }

  /** Concludes and returns the ended transactions whose block is below `nextBlock`: the history has all facts of those blocks. */
  pass(nextBlock: number, nowMs: number): readonly Passed[] {
    const passed: Passed[] = [];
    for (const [id, { note, ending }] of this.#hands) {
      if (ending === undefined || (ending.kind === 'mined' && ending.block >= nextBlock)) continue;
      passed.push(this.#conclude({ id, note, ending }, nowMs));
    }
    return passed;
  }

  /** Fills of which the chain is to say now whether it has settled them. Until then, and while it has, they are not due. */
  doubtful(nowMs: number): readonly number[] {
    return this.#doubts.due(nowMs).filter((fill) => {
      const open = this.#find(fill) !== undefined;
      if (!open) this.#forget(fill);
      return open;
    });
  }

  /** Notes what the chain has said of doubtful fills. If somebody's transaction has settled one, the tokens do not refuse everybody. */
  looked(look: Look, nowMs: number): void {
    this.#doubts.looked(look, nowMs);
    if (look.settled.size > 0) this.#pace.settled();
  }

  /** How many requests the lane has not taken yet (`asked`), and how many have not ended (`open`). */
  counts(): { readonly asked: number; readonly open: number } {
    const hands = [...this.#hands.values()];
    return { asked: hands.filter(({ sent }) => !sent).length, open: hands.filter(({ ending }) => ending === undefined).length };
  }

  /** The number of waiting fills; counting stops at 10,000. */
  waiting(): number {
    let count = this.#returned.size;
    for (const { fill } of this.unsettled(this.#untouched)) {
      if (count >= COUNTED) break;
      if (this.#isNew(fill)) count++;
    }
    return count;
  }

  status(): QueueStatus {
    const hands = [...this.#hands.values()];
    const asked = hands.filter(({ sent }) => !sent).map(({ askedAtMs }) => askedAtMs);
    const oldest = Math.min(this.#oldestUntouchedSince(), [...this.#returned.values()].reduce((a, b) => Math.min(a, b), Infinity));
    return {
      transactions: hands.length, inHand: hands.reduce((sum, { note }) => sum + note.fills.length, 0), troubled: this.#troubles.size,
      slow: this.#pace.slow(), ...asked.length === 0 ? {} : { askedSinceMs: Math.min(...asked) },
      ...oldest === Infinity ? {} : { oldestWaitingSinceMs: oldest },
    };
  }

  /** In ascending order, except that new fills wait while too many have returned. */
  * #candidates(nowMs: number): Generator<UnsettledFill> {
    const returned = [...this.#returned.keys()].sort((a, b) => a - b);
    if (returned.length < this.rules.maxReturned) {
      for (const fill of this.#fresh()) {
        const later = returned.findIndex((each) => each > fill.fill);
        yield* this.#ready(returned.splice(0, later === -1 ? returned.length : later), nowMs);
        yield fill;
      }
    }
    yield* this.#ready(returned, nowMs);
  }

  /** Those of the returned fills that are neither paused, nor in doubt, nor settled. */
  * #ready(returned: readonly number[], nowMs: number): Generator<UnsettledFill> {
    for (const fill of returned) {
      if ((this.#troubles.get(fill)?.notBeforeMs ?? 0) > nowMs || this.#doubts.has(fill)) continue;
      const found = this.#find(fill);
      if (found === undefined) this.#forget(fill);
      else yield found;
    }
  }

  /** Fills that were never in a transaction. Moves `#untouched` to the first of them, so that fills of other chains are read once only. */
  * #fresh(): Generator<UnsettledFill> {
    let first = true;
    for (const fill of this.unsettled(this.#untouched)) {
      if (!this.#isNew(fill.fill)) continue;
      if (first) this.#untouched = fill.fill;
      first = false;
      yield fill;
    }
    if (first) this.#untouched = Math.max(this.#untouched, this.#known);
    this.#arrivals.dropBelow(this.#untouched);
  }

  #conclude({ id, note, ending }: Pick<Passed, 'id' | 'note' | 'ending'>, nowMs: number): Passed {
    this.#hands.delete(id);
    let alone = 0;
    const left = note.fills.filter((fill) => {
      if (this.#find(fill) === undefined) {
        this.#forget(fill);
        return false;
      }
      return true;
    });
    // A transaction that succeeded and left every fill untouched found a token that refuses everybody: no fill is the cause.
    const succeeded = ending.kind === 'mined' && ending.succeeded;
    const stopped = succeeded && left.length === note.fills.length;
    if (stopped) this.#pace.stopped(nowMs);
    else if (succeeded) this.#pace.settled();
    if (succeeded) this.#doubts.add(left);
    for (const fill of left) {
      if (ending.kind === 'lost' || (stopped && left.length > 1)) this.#giveBack(fill, nowMs);
      else alone = this.#comeBack(fill, note.fills.length, nowMs);
    }
    return { id, note, ending, left, alone };
  }

  /** Frees a fill that its batch did not settle: for a smaller batch, or, if it was alone, after a pause. Returns how often in a row it was alone. */
  #comeBack(fill: number, batchSize: number, nowMs: number): number {
    const alone = batchSize === 1 ? this.#aloneOf(fill) + 1 : 0;
    const pauseMs = batchSize === 1 ? backoffMs(alone, { firstMs: this.rules.pauseMs, longestMs: this.rules.maxPauseMs }) : 0;
    this.#giveBack(fill, nowMs);
    this.#troubles.set(fill, { limit: Math.max(1, Math.floor(batchSize / 2)), alone, notBeforeMs: nowMs + pauseMs });
    return alone;
  }

  /** Whether a fill that is not below `#untouched` was never in a transaction. */
  #isNew(fill: number): boolean {
    return !this.#early.has(fill) && !this.#returned.has(fill);
  }

  #giveBack(fill: number, nowMs: number): void {
    this.#early.delete(fill);
    this.#returned.set(fill, nowMs);
  }

  #find(fill: number): UnsettledFill | undefined {
    for (const found of this.unsettled(fill)) return found.fill === fill ? found : undefined;
    return undefined;
  }

  #forget(fill: number): void {
    this.#returned.delete(fill);
    this.#troubles.delete(fill);
    this.#doubts.forget(fill);
    this.#early.delete(fill);
  }

  #aloneOf(fill: number): number {
    return this.#troubles.get(fill)?.alone ?? 0;
  }

  #oldestUntouchedSince(): number {
    for (const { fill } of this.unsettled(this.#untouched)) if (this.#isNew(fill)) return this.#arrivals.at(fill, Infinity);
    return Infinity;
  }
}

/**
 * Slows down when transactions keep reverting, or one succeeds and leaves all its fills untouched. Then no single fill is the cause (the key
 * may have lost its role, or the collateral is paused), so one transaction at a time is sent to find out when it is over, and no gas is spent
 * on the others.
 */
function createPace({ slowAfter, pauseMs, maxSlowPauseMs }: QueueRules) {
  let reverts = 0;
  let quietUntilMs = 0;
  const slow = (): boolean => reverts >= slowAfter;
  const pauseAfterMs = (): number => backoffMs(reverts - slowAfter + 1, { firstMs: pauseMs, longestMs: maxSlowPauseMs });
  return {
    slow,
    allows: (inHand: number, nowMs: number): boolean => !slow() || (inHand === 0 && nowMs >= quietUntilMs),
    settled(): void {
      reverts = 0;
    },
    stopped(nowMs: number): void {
      reverts = Math.max(reverts + 1, slowAfter);
      quietUntilMs = nowMs + pauseAfterMs();
    },
    reverted({ others, nowMs }: { others: boolean; nowMs: number }): void {
      // Transactions sent before the first revert do not count again.
      if (!slow() || !others) reverts++;
      if (slow()) quietUntilMs = nowMs + pauseAfterMs();
    },
  };
}
