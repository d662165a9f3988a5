/** Halts that the operator has planned: from one time to another no orders are taken. */
import { RequestError } from '../../engine/records/errors.js';
import type { Admit } from '../../engine/running-role.js';

/** From and to in Unix seconds; at `toS` orders are taken again. */
export interface PlannedHalt {
  readonly fromS: number;
  readonly toS: number;
  readonly reason: string;
}

export interface HaltParts {
  readonly plannedHalts: readonly PlannedHalt[];
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

/** Admits as `admit` does, but no order during a halt: then it throws RequestError `trading_halted`. */
export function unlessHalted(admit: Admit, { plannedHalts, now }: HaltParts): Admit {
  if (plannedHalts.length === 0) return admit;
  return (what) => {
    admit(what);
    if (what !== 'order') return;
    const nowS = Math.floor(now() / 1_000);
    const halt = plannedHalts.find(({ fromS, toS }) => fromS <= nowS && nowS < toS);
    if (halt === undefined) return;
    const { toS, reason } = halt;
    throw new RequestError('trading_halted', `until ${new Date(toS * 1_000).toISOString()}: ${reason}`, [], { retryAfterS: toS - nowS });
  };
}

/** The halts that are not over, the next one first. */
export function haltsAhead({ plannedHalts, now }: HaltParts): readonly PlannedHalt[] {
  return plannedHalts.filter(({ toS }) => toS * 1_000 > now()).toSorted((a, b) => a.fromS - b.fromS);
}
