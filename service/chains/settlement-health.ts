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
  /** The chain's unsettled fills. */
  readonly unsettled: () => Iterable<unknown>;
}

/** Fills are counted up to this number. */
const COUNTED = 10_000;
/** A count is reused for this time. */
const REMEMBERED_MS = 1_000;

/** A function that returns the current health; counts may be a second old. */
export function createSettlementHealth(parts: SettlementHealthParts): () => SettlementHealth {
  const { now } = parts;
  const read = createReader(parts);
  let remembered: { readonly atMs: number; readonly fills: Fills } | undefined;
  return () => {
    const atMs = now();
    if (remembered === undefined || atMs < remembered.atMs || atMs - remembered.atMs >= REMEMBERED_MS) remembered = { atMs, fills: read() };
    const { oldestSinceMs, ...counts } = remembered.fills;
    return { chainId: parts.chainId, ...counts, oldestWaitingS: oldestSinceMs === undefined ? null : secondsOf(atMs - oldestSinceMs) };
  };
}

interface Fills extends Pick<SettlementHealth, 'waitingFills' | 'sentFills' | 'settlementTrouble'> {
  readonly oldestSinceMs: number | undefined;
}

function createReader({ now, settlement, unsettled }: SettlementHealthParts): () => Fills {
  /** The time since which there have been unsettled fills without a running worker. */
  let unsettledSinceMs: number | undefined;
  return () => {
    const status = settlement();
    if (status !== undefined) {
      // A worker that has no trouble and does not hold the requests is on standby: another process settles the fills.
      const standsBy = !status.holds && status.trouble === undefined;
      return {
        waitingFills: status.waiting, sentFills: status.inHand, settlementTrouble: textOf(status.trouble),
        oldestSinceMs: standsBy ? undefined : status.oldestWaitingSinceMs,
      };
    }
    let waitingFills = 0;
    const fills = unsettled()[Symbol.iterator]();
    while (waitingFills < COUNTED && fills.next().done !== true) waitingFills++;
    if (waitingFills > 0) unsettledSinceMs ??= now();
    return { waitingFills, sentFills: 0, settlementTrouble: null, oldestSinceMs: unsettledSinceMs };
  };
}
