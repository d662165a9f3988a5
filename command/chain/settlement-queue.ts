/**
 * Which fills are settled next: what waits, what is in hand, what has made trouble. It is told of everything and does nothing
 * itself, so the same story always gives the same batches.
 *
 * A fill is in hand from the moment it is taken until its transaction is over and the history has passed the transaction's block.
 * If it is unsettled then, it is free again. Fills that no transaction has had yet are not kept here: they are read from the engine
 * from a place on, so an hour without a chain costs no memory.
 */
import type { UnsettledFill } from '../../engine/unsettled-fills.js';
import type { Ending } from './sender.js';

export interface QueueRules {
  /** Fills of a batch at most. */
  readonly maxFills: number;
  /** How long a batch may wait for more fills. */
  readonly gatherMs: number;
  /** The first pause of a fill whose transaction reverted with it alone; the next ones are each twice as long. */
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
  /** Fills that are in batches of less than the full size, since a transaction of theirs did not settle them. */
  readonly troubled: number;
  /** Whether transactions go one at a time, since too many reverted in a row. */
  readonly slow: boolean;
  /** Since when, in milliseconds, the fill that waits longest has waited; absent when none waits. */
  readonly oldestWaitingSinceMs?: number;
}

export interface SettlementQueue {
  /** Takes over what an earlier process has sent: to be called first, if at all. */
  restore(open: readonly { nonce: number; note: SettlementNote }[], nowMs: number): void;
  /** The engine has given fill numbers up to, not including, `nextFill`. */
  observe(nextFill: number, nowMs: number): void;
  /** The fills of the next batch, in order; none when none is due yet. */
  due(nowMs: number): readonly UnsettledFill[];
  /** A transaction is being made with the first of the fills that were due. Then comes `sent` or `unsent`. */
  take(note: SettlementNote): void;
  sent(note: SettlementNote, nonce: number): void;
  unsent(note: SettlementNote, nowMs: number): void;
  /** May be told again. */
  over(transaction: { nonce: number; note: SettlementNote }, ending: Ending, nowMs: number): void;
  /** The history has every fact of the blocks below `nextBlock`: gives the transactions that this concludes. */
  pass(nextBlock: number, nowMs: number): readonly Passed[];
  /** How many fills wait; counted up to 10,000. */
  waiting(): number;
  status(): QueueStatus;
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

/** A queue over the engine's unsettled fills of one chain with numbers of `from` and higher, ascending. */
export function createSettlementQueue(unsettled: (from: number) => Iterable<UnsettledFill>, rules: QueueRules = QUEUE_RULES): SettlementQueue {
  const hands = new Map<number, Hand>();
  /** By their first fills: what the sender has not given a nonce yet. */
  const sending = new Map<number, SettlementNote>();
  /** Every fill with this number or a higher one is untouched. */
  let untouched = 0;
  /** Fills below `untouched` that are in no hand, and since when they wait. */
  const returned = new Map<number, number>();
  const troubles = new Map<number, Trouble>();
  const arrivals = createArrivals();
  const pace = createPace(rules);

  function* candidates(nowMs: number): Generator<UnsettledFill> {
    for (const fill of [...returned.keys()].sort((a, b) => a - b)) {
      if ((troubles.get(fill)?.notBeforeMs ?? 0) > nowMs) continue;
      const found = find(fill);
      if (found === undefined) forget(fill);
      else yield found;
    }
    if (returned.size < rules.maxReturned) yield* fresh();
  }

  function* fresh(): Generator<UnsettledFill> {
    let first = true;
    for (const fill of unsettled(untouched)) {
      if (first) untouched = fill.fill;
      first = false;
      yield fill;
    }
    if (first) untouched = Math.max(untouched, arrivals.upTo());
    arrivals.dropBelow(untouched);
  }

  function find(fill: number): UnsettledFill | undefined {
    for (const found of unsettled(fill)) return found.fill === fill ? found : undefined;
    return undefined;
  }

  function forget(fill: number): void {
    returned.delete(fill);
    troubles.delete(fill);
  }

  function conclude(nonce: number, { note, ending }: Required<Hand>, nowMs: number): Passed {
    hands.delete(nonce);
    const single = note.fills.length === 1;
    let alone = 0;
    const left = note.fills.filter((fill) => {
      if (find(fill) === undefined) {
        forget(fill);
        return false;
      }
      returned.set(fill, nowMs);
      if (ending.kind === 'lost') return true;
      alone = single ? (troubles.get(fill)?.alone ?? 0) + 1 : 0;
      const pauseMs = single ? doubled(rules.pauseMs, alone, rules.maxPauseMs) : 0;
      troubles.set(fill, { limit: Math.max(1, Math.floor(note.fills.length / 2)), alone, notBeforeMs: nowMs + pauseMs });
      return true;
    });
    return { nonce, note, ending, left, alone };
  }

  const limitOf = (fill: number): number => troubles.get(fill)?.limit ?? rules.maxFills;

  return {
    restore(open, nowMs) {
      for (const { nonce, note } of open) hands.set(nonce, { note });
      const held = new Set(open.flatMap(({ note }) => note.fills));
      untouched = Math.max(-1, ...held) + 1;
      for (const { fill } of unsettled(0)) {
        if (fill >= untouched) break;
        if (!held.has(fill)) returned.set(fill, nowMs);
      }
    },
    observe: (nextFill, nowMs) => { arrivals.add(nextFill, nowMs); },
    due(nowMs) {
      if (!pace.allows(hands.size + sending.size, nowMs)) return [];
      const batch: UnsettledFill[] = [];
      let limit = 0;
      let grows = true;
      for (const fill of candidates(nowMs)) {
        if (batch.length === 0) limit = limitOf(fill.fill);
        else if (limitOf(fill.fill) !== limit) grows = false;
        if (grows) batch.push(fill);
        if (batch.length === limit) grows = false;
        if (!grows) break;
      }
      if (batch.length === 0) return batch;
      const first = batch[0].fill;
      const ripe = !grows || returned.has(first) || arrivals.at(first, nowMs) + rules.gatherMs <= nowMs;
      return ripe ? batch : [];
    },
    take(note) {
      sending.set(note.fills[0], note);
      for (const fill of note.fills) returned.delete(fill);
      untouched = Math.max(untouched, note.fills.at(-1)! + 1);
      arrivals.dropBelow(untouched);
    },
    sent(note, nonce) {
      // It may be over already.
      if (sending.delete(note.fills[0])) hands.set(nonce, { note });
    },
    unsent(note, nowMs) {
      if (!sending.delete(note.fills[0])) return;
      for (const fill of note.fills) returned.set(fill, nowMs);
    },
    over({ nonce, note }, ending, nowMs) {
      const wasSending = !hands.has(nonce) && sending.delete(note.fills[0]);
      // Told again of one that is over already, perhaps with its fills in other hands by now.
      if (!wasSending && (!hands.has(nonce) || hands.get(nonce)!.ending !== undefined)) return;
      if (ending.kind === 'mined') {
        const others = [...hands].some(([other, hand]) => other !== nonce && hand.ending === undefined);
        const known = note.fills.every((fill) => (troubles.get(fill)?.alone ?? 0) > 0);
        if (ending.succeeded) pace.settled();
        else if (!known) pace.reverted({ others, nowMs });
      }
      hands.set(nonce, { note, ending });
    },
    pass(nextBlock, nowMs) {
      const passed: Passed[] = [];
      for (const [nonce, { note, ending }] of hands) {
        if (ending === undefined || (ending.kind === 'mined' && ending.block >= nextBlock)) continue;
        passed.push(conclude(nonce, { note, ending }, nowMs));
      }
      return passed;
    },
    waiting() {
      let count = returned.size;
      const rest = unsettled(untouched)[Symbol.iterator]();
      while (count < COUNTED && rest.next().done !== true) count++;
      return count;
    },
    status() {
      const since = [...returned.values()];
      for (const { fill } of unsettled(untouched)) {
        since.push(arrivals.at(fill, Infinity));
        break;
      }
      const oldest = since.reduce((a, b) => Math.min(a, b), Infinity);
      return {
        transactions: hands.size + sending.size,
        inHand: [...[...hands.values()].map(({ note }) => note), ...sending.values()].reduce((sum, { fills }) => sum + fills.length, 0),
        troubled: troubles.size, slow: pace.slow(), ...oldest === Infinity ? {} : { oldestWaitingSinceMs: oldest },
      };
    },
  };
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
