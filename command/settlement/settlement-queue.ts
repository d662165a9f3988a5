/**
 * Which fills are settled next: what waits, what is in hand, what has made trouble. It is told of everything and does nothing
 * itself, so the same story always gives the same batches.
 *
 * A fill is in hand from the moment it is taken until its transaction is over and the history has passed the transaction's block.
 * If it is unsettled then, it is free again. Fills that no transaction has had yet are not kept here: they are read from the engine
 * from a place on, so an hour without a chain costs no memory.
 */
import type { UnsettledFill } from '../../engine/run/unsettled-fills.js';
import type { Ending } from '../lane/sender.js';

export interface QueueRules {
  /** Fills of a batch at most. */
  readonly maxFills: number;
  /** How long a batch may wait for more fills. */
  readonly gatherMs: number;
  /** The first pause of a fill that could not be settled though it was alone; the next ones are each twice as long. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
  /** After so many reverted transactions in a row there is one at a time, with pauses between. */
  readonly slowAfter: number;
  readonly maxSlowPauseMs: number;
  /** When so many fills have come back, no further ones are taken until some of them are settled. */
  readonly maxReturned: number;
}

export const QUEUE_RULES: QueueRules = {
  maxFills: 50, gatherMs: 250, pauseMs: 1_000, maxPauseMs: 600_000, slowAfter: 8, maxSlowPauseMs: 60_000, maxReturned: 1_000,
};

/** What a settlement transaction carries: its fills in order, and the numbers of the orders whose permits it uses. */
export interface SettlementNote {
  readonly fills: readonly number[];
  readonly permits: readonly number[];
}

/** A transaction that is over and that the history has passed: `left` are its fills that are still unsettled. */
export interface Passed {
  readonly nonce: number;
  readonly note: SettlementNote;
  readonly ending: Ending;
  readonly left: readonly number[];
  /** How often in a row the fill has come back as the only one of its transaction; 0 for a larger batch. */
  readonly alone: number;
}

export interface QueueStatus {
  readonly transactions: number;
  readonly inHand: number;
  /** Fills that are in batches of less than the full size, since a transaction of theirs did not settle them or could not be made. */
  readonly troubled: number;
  /** Whether transactions go one at a time, since too many reverted in a row. */
  readonly slow: boolean;
  /** Since when, in milliseconds, the fill that waits longest has waited; absent when none waits. */
  readonly oldestWaitingSinceMs?: number;
}

interface Hand {
  readonly note: SettlementNote;
  ending?: Ending;
}

interface Trouble {
  /** Fills of a batch with this one at most. */
  readonly limit: number;
  readonly alone: number;
  readonly notBeforeMs: number;
}

const COUNTED = 10_000;

/** The queue of one chain. */
export class SettlementQueue {
  /** By nonce: transactions that are not concluded. */
  readonly #hands = new Map<number, Hand>();
  /** By their first fills: what the sender has not given a nonce yet. */
  readonly #sending = new Map<number, SettlementNote>();
  /** Every fill with this number or a higher one is untouched. */
  #untouched = 0;
  /** Fills below that are in no hand, and since when they wait. */
  readonly #returned = new Map<number, number>();
  readonly #troubles = new Map<number, Trouble>();
  readonly #arrivals = createArrivals();
  readonly #pace: ReturnType<typeof createPace>;

  /** `unsettled`: the engine's unsettled fills of the chain with numbers of `from` and higher, ascending. */
  constructor(private readonly unsettled: (from: number) => Iterable<UnsettledFill>, private readonly rules: QueueRules = QUEUE_RULES) {
    this.#pace = createPace(rules);
  }

  /** Takes over what an earlier process has sent: to be called first, if at all. */
  restore(open: readonly { nonce: number; note: SettlementNote }[], nowMs: number): void {
    for (const { nonce, note } of open) this.#hands.set(nonce, { note });
    const held = new Set(open.flatMap(({ note }) => note.fills));
    for (const fill of held) this.#untouched = Math.max(this.#untouched, fill + 1);
    for (const { fill } of this.unsettled(0)) {
      if (fill >= this.#untouched) break;
      if (!held.has(fill)) this.#returned.set(fill, nowMs);
    }
  }

  /** The engine has given fill numbers up to, not including, `nextFill`. */
  observe(nextFill: number, nowMs: number): void {
    this.#arrivals.add(nextFill, nowMs);
  }

  /** The fills of the next batch, in order; none when none is due yet. */
  due(nowMs: number): readonly UnsettledFill[] {
    if (!this.#pace.allows(this.#hands.size + this.#sending.size, nowMs)) return [];
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
    if (batch.length === 0) return batch;
    const first = batch[0].fill;
    const ripe = !grows || this.#returned.has(first) || this.#arrivals.at(first, nowMs) + this.rules.gatherMs <= nowMs;
    return ripe ? batch : [];
  }

  /** A transaction is being made with the first of the fills that were due. Then comes `sent` or `unsent`. */
  take(note: SettlementNote): void {
    this.#sending.set(note.fills[0], note);
    for (const fill of note.fills) this.#returned.delete(fill);
    this.#untouched = Math.max(this.#untouched, note.fills.at(-1)! + 1);
    this.#arrivals.dropBelow(this.#untouched);
  }

  sent(note: SettlementNote, nonce: number): void {
    // It may be over already.
    if (this.#sending.delete(note.fills[0])) this.#hands.set(nonce, { note });
  }

  unsent(note: SettlementNote, nowMs: number): void {
    if (!this.#sending.delete(note.fills[0])) return;
    for (const fill of note.fills) this.#returned.set(fill, nowMs);
  }

  /**
   * The sender can never send this: its fills go again in smaller batches, a single one ever more rarely. Returns how often in a row
   * the fill has come back alone; 0 for a larger batch.
   */
  unsendable(note: SettlementNote, nowMs: number): number {
    this.#sending.delete(note.fills[0]);
    let alone = 0;
    for (const fill of note.fills) alone = this.#comeBack(fill, note.fills.length, nowMs);
    return alone;
  }

  /**
   * Of the fills that were due, no transaction can be made with the `unfit`: they are tried alone, ever more rarely; the others are due
   * at once. Returns those of the unfit that had made no such trouble before.
   */
  setAside({ due, unfit }: { due: readonly number[]; unfit: readonly number[] }, nowMs: number): readonly number[] {
    const note = { fills: due, permits: [] };
    this.take(note);
    this.unsent(note, nowMs);
    return unfit.filter((fill) => this.#comeBack(fill, 1, nowMs) === 1);
  }

  /** May be told again. */
  over({ nonce, note }: { nonce: number; note: SettlementNote }, ending: Ending, nowMs: number): void {
    const known = this.#hands.get(nonce);
    const wasSending = known === undefined && this.#sending.delete(note.fills[0]);
    // Told again of one that is over already, perhaps with its fills in other hands by now.
    if (!wasSending && (known === undefined || known.ending !== undefined)) return;
    this.#hands.set(nonce, { note, ending });
    if (ending.kind === 'lost') return;
    const others = [...this.#hands.values()].some((hand) => hand.ending === undefined);
    if (ending.succeeded) this.#pace.settled();
    else if (!note.fills.every((fill) => this.#aloneOf(fill) > 0)) this.#pace.reverted({ others, nowMs });
  }

  /** The history has every fact of the blocks below `nextBlock`: gives the transactions that this concludes. */
  pass(nextBlock: number, nowMs: number): readonly Passed[] {
    const passed: Passed[] = [];
    for (const [nonce, { note, ending }] of this.#hands) {
      if (ending === undefined || (ending.kind === 'mined' && ending.block >= nextBlock)) continue;
      passed.push(this.#conclude(nonce, { note, ending }, nowMs));
    }
    return passed;
  }

  /** How many fills wait; counted up to 10,000. */
  waiting(): number {
    let count = this.#returned.size;
    const rest = this.unsettled(this.#untouched)[Symbol.iterator]();
    while (count < COUNTED && rest.next().done !== true) count++;
    return count;
  }

  status(): QueueStatus {
    const notes = [...[...this.#hands.values()].map(({ note }) => note), ...this.#sending.values()];
    const oldest = Math.min(this.#oldestUntouchedSince(), [...this.#returned.values()].reduce((a, b) => Math.min(a, b), Infinity));
    return {
      transactions: notes.length, inHand: notes.reduce((sum, { fills }) => sum + fills.length, 0), troubled: this.#troubles.size,
      slow: this.#pace.slow(), ...oldest === Infinity ? {} : { oldestWaitingSinceMs: oldest },
    };
  }

  * #candidates(nowMs: number): Generator<UnsettledFill> {
    for (const fill of [...this.#returned.keys()].sort((a, b) => a - b)) {
      if ((this.#troubles.get(fill)?.notBeforeMs ?? 0) > nowMs) continue;
      const found = this.#find(fill);
      if (found === undefined) this.#forget(fill);
      else yield found;
    }
    if (this.#returned.size < this.rules.maxReturned) yield* this.#fresh();
  }

  /** Fills that no transaction has had. Other chains' fills before the first of them are not looked at again. */
  * #fresh(): Generator<UnsettledFill> {
    let first = true;
    for (const fill of this.unsettled(this.#untouched)) {
      if (first) this.#untouched = fill.fill;
      first = false;
      yield fill;
    }
    if (first) this.#untouched = Math.max(this.#untouched, this.#arrivals.upTo());
    this.#arrivals.dropBelow(this.#untouched);
  }

  #conclude(nonce: number, { note, ending }: Required<Hand>, nowMs: number): Passed {
    this.#hands.delete(nonce);
    let alone = 0;
    const left = note.fills.filter((fill) => {
      if (this.#find(fill) === undefined) {
        this.#forget(fill);
        return false;
      }
      if (ending.kind === 'lost') this.#returned.set(fill, nowMs);
      else alone = this.#comeBack(fill, note.fills.length, nowMs);
      return true;
    });
    return { nonce, note, ending, left, alone };
  }

  /** A fill of a batch of so many was not settled: a smaller batch is next, or, if it was alone, a pause. Returns how often in a row it was alone. */
  #comeBack(fill: number, batchSize: number, nowMs: number): number {
    const alone = batchSize === 1 ? this.#aloneOf(fill) + 1 : 0;
    const pauseMs = batchSize === 1 ? doubled(this.rules.pauseMs, alone, this.rules.maxPauseMs) : 0;
    this.#returned.set(fill, nowMs);
    this.#troubles.set(fill, { limit: Math.max(1, Math.floor(batchSize / 2)), alone, notBeforeMs: nowMs + pauseMs });
    return alone;
  }

  #find(fill: number): UnsettledFill | undefined {
    for (const found of this.unsettled(fill)) return found.fill === fill ? found : undefined;
    return undefined;
  }

  #forget(fill: number): void {
    this.#returned.delete(fill);
    this.#troubles.delete(fill);
  }

  #aloneOf(fill: number): number {
    return this.#troubles.get(fill)?.alone ?? 0;
  }

  #oldestUntouchedSince(): number {
    for (const { fill } of this.unsettled(this.#untouched)) return this.#arrivals.at(fill, Infinity);
    return Infinity;
  }
}

/** `first`, doubled for each time after the first, `most` at most. */
function doubled(first: number, times: number, most: number): number {
  return Math.min(most, first * 2 ** Math.min(times - 1, 40));
}

/** When fills were seen first: a few marks, of which the oldest two become one when they get too many. A fill is never seen later than so told. */
function createArrivals() {
  const marks: { readonly upTo: number; readonly atMs: number }[] = [];
  let seen = 0;
  return {
    upTo: () => seen,
    add(nextFill: number, atMs: number): void {
      if (nextFill <= seen) return;
      seen = nextFill;
      marks.push({ upTo: nextFill, atMs });
      if (marks.length > 64) marks.splice(0, 2, { upTo: marks[1].upTo, atMs: marks[0].atMs });
    },
    at: (fill: number, unseen: number): number => marks.find(({ upTo }) => fill < upTo)?.atMs ?? unseen,
    dropBelow(fill: number): void {
      while (marks.length > 0 && marks[0].upTo <= fill) marks.shift();
    },
  };
}

/**
 * When transaction after transaction reverts, it is not a fill's fault (the key may have lost its role): then one at a time tries
 * whether it is over, and the others are spared their gas.
 */
function createPace({ slowAfter, pauseMs, maxSlowPauseMs }: QueueRules) {
  let reverts = 0;
  let quietUntilMs = 0;
  const slow = (): boolean => reverts >= slowAfter;
  return {
    slow,
    allows: (inHand: number, nowMs: number): boolean => !slow() || (inHand === 0 && nowMs >= quietUntilMs),
    settled(): void {
      reverts = 0;
    },
    reverted({ others, nowMs }: { others: boolean; nowMs: number }): void {
      // Those that were sent before the first one reverted say nothing new.
      if (!slow() || !others) reverts++;
      if (slow()) quietUntilMs = nowMs + doubled(pauseMs, reverts - slowAfter + 1, maxSlowPauseMs);
    },
  };
}
