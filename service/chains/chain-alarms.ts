/**
 * Alarms for a chain that is unreachable for long, for fills that wait for long, and for senders that cannot send. Each alarm is raised once,
 * until its cause has passed.
 */
import type { Report } from '../../engine/report.js';
import type { RoundsStatus } from '../../command/jobs/lane-rounds.js';
import type { IndexerHealth, SettlementHealth } from '../status/readiness.js';

export interface AwayAlarmOptions {
  readonly chainId: number;
  /** The chain counts as unreachable when no request has succeeded for this time. */
  readonly awayAfterMs: number;
  /** Whether the running indexer reports a chain without new blocks after the same time. If so, this alarm waits twice as long. */
  readonly stallsAreTold: boolean;
  readonly report: Report;
}

/** Returns a function to call regularly with the chain's health. */
export function createAwayAlarm({ chainId, awayAfterMs, stallsAreTold, report }: AwayAlarmOptions): (health: IndexerHealth) => void {
  let away = false;
  return ({ reachable, stalled, finalBlock, sinceLookS, lastError, stopped }) => {
    // Reported already, and permanent until the next start.
    if (stopped !== null) return;
    const patienceMs = stallsAreTold && finalBlock !== null ? 2 * awayAfterMs : awayAfterMs;
    if (reachable) {
      if (away) report('note', `chain ${chainId} can be reached again`);
      away = false;
    } else if (!away && !stalled && sinceLookS * 1_000 >= patienceMs) {
      away = true;
      report('alarm', `chain ${chainId} could not be reached for ${sinceLookS} s: ${lastError ?? 'its nodes do not answer'}. Orders are accepted and `
      + 'fills wait. Check its nodes and the RPC URLs in the settings');
    }
  };
}

/** The longest time that a fill may wait to be sent without an alarm. */
const WAITS_AT_MOST_S = 300;

/** Returns a function to call regularly with the settlement's health. */
export function createWaitingAlarm({ chainId, report }: { readonly chainId: number; readonly report: Report }): (health: SettlementHealth) => void {
  let waits = false;
  return ({ oldestWaitingS, waitingFills, settlementTrouble }) => {
    const waitsNow = oldestWaitingS !== null && oldestWaitingS > WAITS_AT_MOST_S;
    if (waitsNow && !waits) {
      report('alarm', `chain ${chainId}: ${waitingFills} fills wait to be sent, the oldest for ${oldestWaitingS} s: `
      + (settlementTrouble ?? 'check the chain, its nodes and the operator key'));
    }
    if (waits && !waitsNow) report('note', `chain ${chainId}: no fill waits for long any more`);
    waits = waitsNow;
  };
}

export interface TroubleAlarmOptions {
  readonly report: Report;
  readonly sender: { status(): RoundsStatus };
}

/**
 * Returns a function to call regularly. Raises an alarm when a sender cannot send for two looks in a row, until it can again. A process that
 * stands by is silent.
 */
export function createTroubleAlarm(who: string, { report, sender }: TroubleAlarmOptions): () => void {
  let looks = 0;
  return () => {
    const { holds, trouble } = sender.status();
    if (holds && trouble !== undefined) looks += 1;
    else {
      if (looks > 1) report('note', `${who} can send again`);
      looks = 0;
    }
    if (looks === 2) report('alarm', `${who} cannot send: ${trouble ?? ''}. Check its key's funds, the chain and the lane`);
  };
}
