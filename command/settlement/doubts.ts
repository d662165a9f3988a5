/**
 * Fills that a successful transaction left unsettled. Either the contract did not reach them, or another transaction has settled them and the history
 * has not come to it. The chain says which; until then they are not sent again. No input or output.
 */
import { backoffMs } from '../../engine/waiting.js';

export interface DoubtRules {
  /** The pause after the chain has said that a fill is settled; each further pause is twice as long. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
}

/** What the chain has said. */
export interface Look {
  readonly asked: readonly number[];
  /** Those of them that the chain has settled. */
  readonly settled: ReadonlySet<number>;
}

export interface Doubts {
  has(fill: number): boolean;
  add(fills: readonly number[]): void;
  /** Fills of which the chain is to say now whether it has settled them. */
  due(nowMs: number): readonly number[];
  /** What the chain has not settled is no longer in doubt. The rest is asked about again: a block may be reorganised away. */
  looked(look: Look, nowMs: number): void;
  forget(fill: number): void;
}

export function createDoubts({ pauseMs, maxPauseMs }: DoubtRules): Doubts {
  const doubts = new Map<number, { readonly askAtMs: number; readonly times: number }>();
  return {
    has: (fill) => doubts.has(fill),
    add(fills) { for (const fill of fills) doubts.set(fill, { askAtMs: 0, times: 0 }); },
    due: (nowMs) => [...doubts].filter(([, { askAtMs }]) => askAtMs <= nowMs).map(([fill]) => fill),
    looked({ asked, settled }, nowMs) {
      for (const fill of asked) {
        const doubt = doubts.get(fill);
        if (doubt === undefined) continue;
        const times = doubt.times + 1;
        if (settled.has(fill)) doubts.set(fill, { times, askAtMs: nowMs + backoffMs(times, { firstMs: pauseMs, longestMs: maxPauseMs }) });
        else doubts.delete(fill);
      }
    },
    forget(fill) { doubts.delete(fill); },
  };
}
