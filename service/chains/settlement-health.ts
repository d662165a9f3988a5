/** The health of a chain's settlement: for readiness, metrics and alarms. */
import type { SettlementStatus } from '../../command/settlement/settlement-worker.js';
import type { SettlementHealth } from '../status/readiness.js';
import { secondsOf, textOf } from './indexer-health.js';

export interface SettlementHealthParts {
  readonly chainId: number;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Undefined until the worker runs. */
  readonly settlement: () => SettlementStatus | undefined;
  /** How many fills wait for the chain while no worker runs. */
  readonly waiting: () => number;
}

/** A function that returns the current health. */
export function createSettlementHealth({ chainId, now, settlement, waiting }: SettlementHealthParts): () => SettlementHealth {
  /** Since when fills have waited without a running worker. */
  let unsettledSinceMs: number | undefined;
  const ageOf = (sinceMs: number | undefined): number | null => sinceMs === undefined ? null : secondsOf(now() - sinceMs);
  return () => {
    const status = settlement();
    if (status === undefined) {
      const waitingFills = waiting();
      if (waitingFills > 0) unsettledSinceMs ??= now();
      return { chainId, waitingFills, sentFills: 0, settlementTrouble: null, oldestWaitingS: ageOf(unsettledSinceMs) };
    }
    // A worker that has no trouble and does not hold the requests is on standby: another process settles the fills.
    const standsBy = !status.holds && status.trouble === undefined;
    return {
      chainId, waitingFills: status.waiting, sentFills: status.inHand, settlementTrouble: textOf(status.trouble),
      oldestWaitingS: standsBy ? null : ageOf(status.oldestWaitingSinceMs),
    };
  };
}
