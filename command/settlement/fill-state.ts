/**
 * The states of a fill on its way to the chain, and what moves it from one to the next. The table `settlement.fills` is
 * the queue: it has each fill's state, and the worker writes what `next` returns. No input or output.
 */
import { backoffMs } from '../../engine/waiting.js';
import type { TransactionEnding, RequestStatus } from '../lane/requests.js';
import type { QueueRules } from './rules.js';

export type FillState
  /** The feed has given it; it was in no request yet. */
  = | 'waiting'
    /** It is in a request of the lane: not taken, sent, or mined in a block that the history has not recorded yet. */
    | 'requested'
    /**
     * Its request has not settled it. It goes again: in a smaller batch when it may be the cause, after a pause when it
     * was alone.
     */
    | 'returned'
    /**
     * The chain has it as settled or failed by another transaction, and the history does not yet. It is not sent; the
     * chain is asked again.
     */
    | 'doubtful';

export type FillTrigger
  = | 'asked'
    | 'order missing'
    | 'found with the lane'
    | 'unknown to the lane'
    | 'refused'
    | 'nonce lost'
    | 'reverted'
    | 'left out'
    | 'all left out'
    | 'settled by another'
    | 'not settled after all';

type Retry
  = | 'as before'
    /** In a batch of at most half the size; if it was alone, after a growing pause. */
    | 'smaller'
    /** Alone, after a growing pause. */
    | 'alone'
    /** After a growing pause. */
    | 'later';

export interface Transition {
  readonly from: readonly FillState[];
  readonly trigger: FillTrigger;
  readonly to: FillState;
  /** How it goes on. */
  readonly retry: Retry;
  readonly meaning: string;
}

function row(
  from: readonly FillState[], trigger: FillTrigger, to: FillState, retry: Retry, meaning: string,
): Transition {
  return { from, trigger, to, retry, meaning };
}

/**
 * Every transition. From every state, a fill that the history has as settled or failed leaves the table (`take` of the
 * store).
 */
export const TRANSITIONS: readonly Transition[] = [
  row(['waiting', 'returned'], 'asked', 'requested', 'as before', 'a request with it is about to go to the lane'),
  row(['waiting', 'returned'], 'order missing', 'returned', 'alone', 'the log does not have one of its signed orders'),
  row(['waiting', 'returned', 'doubtful'], 'found with the lane', 'requested', 'as before', 'at a start, the lane lists a request that names it'),
  row(['requested'], 'unknown to the lane', 'returned', 'as before', 'at a start, no request that the lane lists names it'),
  row(['requested'], 'refused', 'returned', 'smaller', 'the lane says that the transaction can never be sent'),
  row(['requested'], 'nonce lost', 'returned', 'as before', 'a transaction that the lane does not know used the nonce'),
  row(['requested'], 'reverted', 'returned', 'smaller', 'the transaction reverted as a whole'),
  row(['requested'], 'left out', 'returned', 'smaller', 'the transaction succeeded, and the contract did not reach the fill'),
  row(['requested'], 'all left out', 'returned', 'as before', 'the transaction succeeded and touched none of its fills, so none of them is the cause'),
  row(['requested', 'doubtful'], 'settled by another', 'doubtful', 'later', 'the chain has it as settled, and the history does not'),
  row(['doubtful'], 'not settled after all', 'returned', 'as before', 'the block that settled it was reorganised away'),
];

/** What the queue knows of a fill. */
export interface FillProgress {
  readonly state: FillState;
  /** When it came, or came back, in milliseconds. */
  readonly sinceMs: number;
  /** It does not go, and the chain is not asked about it, before this time. */
  readonly dueMs: number;
  /** The most fills of a batch with it; undefined: as many as any batch. */
  readonly batchLimit: number | undefined;
  /** How often in a row it has come back alone; of a doubtful fill, how often the chain has said so. */
  readonly tries: number;
}

export interface TransitionContext {
  readonly nowMs: number;
  /** The number of fills of the request. */
  readonly batchSize: number;
  readonly rules: Pick<QueueRules, 'pauseMs' | 'maxPauseMs'>;
}

/** The fill after what has happened to it. Throws an error for what cannot happen in its state. */
export function next<Fill extends FillProgress>(
  fill: Fill, trigger: FillTrigger, { nowMs, batchSize, rules }: TransitionContext,
): Fill {
  const transition = TRANSITIONS.find((each) => each.trigger === trigger && each.from.includes(fill.state));
  if (transition === undefined) throw new Error(`a fill that is ${fill.state} cannot be ${trigger}`);
  const { to, retry } = transition;
  const sinceMs = to === 'requested' || fill.state === 'doubtful' ? fill.sinceMs : nowMs;
  const paused = (tries: number) => ({
    tries, dueMs: nowMs + backoffMs(tries, { firstMs: rules.pauseMs, longestMs: rules.maxPauseMs }),
  });
  const gone: Fill = { ...fill, state: to, sinceMs, dueMs: 0 };
  switch (retry) {
    case 'as before': return fill.state === 'doubtful' ? { ...gone, tries: 0 } : gone;
    case 'smaller': {
      const batchLimit = Math.max(1, Math.floor(batchSize / 2));
      return batchSize === 1 ? { ...gone, batchLimit, ...paused(fill.tries + 1) } : { ...gone, batchLimit, tries: 0 };
    }
    case 'alone': return { ...gone, batchLimit: 1, ...paused(fill.tries + 1) };
    case 'later': return { ...gone, ...paused(fill.state === 'doubtful' ? fill.tries + 1 : 1) };
  }
}

export interface Timing {
  readonly nowMs: number;
  /** When the last batch was asked; -Infinity before the first. */
  readonly askedMs: number;
  readonly rules: QueueRules;
}

/** The first batch of these fills, which are in order, and when it may be sent: until then other fills may join it. */
export function firstBatch<Fill extends FillProgress>(
  fills: readonly Fill[], { nowMs, askedMs, rules }: Timing,
): { readonly batch: readonly Fill[]; readonly fromMs: number } {
  const [first] = fills;
  if (first === undefined) return { batch: [], fromMs: Infinity };
  const limitOf = ({ batchLimit = rules.maxFills }: Fill): number => Math.min(batchLimit, rules.maxFills);
  const limit = limitOf(first);
  const end = fills.findIndex((fill, i) => i === limit || limitOf(fill) !== limit);
  const batch = end === -1 ? fills : fills.slice(0, end);
  const isWhole = end !== -1 || batch.length === limit;
  // A time that is yet to come was written before the clock was set back.
  if (isWhole || first.state === 'returned' || first.sinceMs > nowMs) return { batch, fromMs: -Infinity };
  return { batch, fromMs: Math.min(
    first.sinceMs + rules.gatherMs, Number.isFinite(rules.quietMs) ? askedMs + rules.quietMs : Infinity,
  ) };
}

/** Whether nothing more happens to the request: the history has all facts of the blocks below `nextBlock`. */
export function isOver(status: RequestStatus, nextBlock: number): boolean {
  switch (status.kind) {
    case 'waiting':
    case 'sent': return false;
    case 'refused': return true;
    case 'ended': return status.ending.kind === 'lost' || status.ending.block < nextBlock;
  }
}

export function hasSucceeded(status: RequestStatus): status is { readonly kind: 'ended'; readonly ending: TransactionEnding & { readonly kind: 'mined' } } {
  return status.kind === 'ended' && status.ending.kind === 'mined' && status.ending.succeeded;
}

/** What has happened to the fills that a request has left, which is over; `fills` is their number at first. */
export function triggerOf(
  status: RequestStatus, { fills, left }: { readonly fills: number; readonly left: number },
): FillTrigger {
  if (status.kind === 'refused') return 'refused';
  if (status.kind !== 'ended' || status.ending.kind === 'lost') return 'nonce lost';
  if (!status.ending.succeeded) return 'reverted';
  return left === fills && left > 1 ? 'all left out' : 'left out';
}
