/**
 * The unsettled fills of one chain in memory, as the worker reads them: the lowest numbers only, so that a million waiting fills take no
 * more memory than a window. What the window lacks is in Postgres, and comes when the window has room. No input or output.
 */
import type { UnsettledFill } from '../../../engine/run/unsettled-fills.js';

/** More than the worker has in hand, gets back and counts together: it never waits for the window. */
export const WINDOW_FILLS = 20_000;

export interface Mirror {
  /** The window has every unsettled fill of the chain below this number. */
  readonly nextFill: number;
  /** The unsettled fills from a number on, ascending. To be used before the next change. */
  unsettled(from: number): Iterable<UnsettledFill>;
  /** The watermark has moved here, past these fills: in order, of any chain. */
  passed(fills: readonly UnsettledFill[], watermark: number): void;
  /** The fill has ended. */
  ended(fill: number): void;
  /** What is to be read from Postgres, now that the window has room; undefined while it has none, or has everything. */
  wants(): Wanted | undefined;
  /** All that Postgres has of what was wanted. */
  read(fills: readonly UnsettledFill[], wanted: Wanted): void;
}

/** The first `limit` of the chain's unsettled fills from a number on and below the watermark. */
export interface Wanted {
  readonly from: number;
  readonly limit: number;
}

/** An empty window, which begins to read from Postgres. */
export function createMirror(chainId: number, watermark: number, windowFills = WINDOW_FILLS): Mirror {
  const fills = new Map<number, UnsettledFill>();
  /** The numbers in `fills`, ascending, and some that have ended. */
  let order: number[] = [];
  let passedUpTo = watermark;
  /** While Postgres has more: the lowest number that the window may lack. */
  let end: number | undefined = 0;

  const add = (fill: UnsettledFill): void => {
    fills.set(fill.fill, fill);
    order.push(fill.fill);
  };
  return {
    get nextFill() { return end ?? passedUpTo; },
    * unsettled(from) {
      for (let i = firstFrom(order, from); i < order.length; i++) {
        const fill = fills.get(order[i] ?? -1);
        if (fill !== undefined) yield fill;
      }
    },
    passed(passing, next) {
      for (const fill of passing) {
        if (fill.chainId !== chainId || end !== undefined) continue;
        if (fills.size < windowFills) add(fill);
        else end = fill.fill;
      }
      passedUpTo = next;
    },
    ended(fill) {
      if (!fills.delete(fill) || order.length < 2 * fills.size + 64) return;
      order = order.filter((each) => fills.has(each));
    },
    wants: () => end !== undefined && fills.size < windowFills / 2 ? { from: end, limit: windowFills - fills.size } : undefined,
    read(more, { limit }) {
      for (const fill of more) add(fill);
      const last = more.at(-1);
      end = last === undefined || more.length < limit ? undefined : last.fill + 1;
    },
  };
}

/** The index of the first number that is `from` or higher. */
function firstFrom(order: readonly number[], from: number): number {
  let low = 0;
  for (let high = order.length; low < high;) {
    const middle = (low + high) >>> 1;
    if ((order[middle] ?? Infinity) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}
