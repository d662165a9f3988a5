/** Alarms for what no worker tells by itself: a chain that is away for long, and fills that wait for long. Each once, until it has passed. */
import type { Report } from '../../command/chain/report.js';
import type { IndexerHealth, SettlementHealth } from '../process/readiness.js';

export interface AwayAlarmOptions {
  readonly chainId: number;
  /** A chain counts as away that could not be looked at for so long. */
  readonly awayAfterMs: number;
  /** Whether the indexer, once it runs, tells of a chain without new blocks after the same time: it is given that time to do so. */
  readonly stallsAreTold: boolean;
  readonly report: Report;
}

/** To be called with the chain's health every now and then. */
export function createAwayAlarm({ chainId, awayAfterMs, stallsAreTold, report }: AwayAlarmOptions): (health: IndexerHealth) => void {
  let away = false;
  return ({ reachable, stalled, finalBlock, sinceLookS, lastError, stopped }) => {
    // That has been told, and does not pass.
    if (stopped !== null) return;
    const patienceMs = stallsAreTold && finalBlock !== null ? 2 * awayAfterMs : awayAfterMs;
    if (reachable) {
      if (away) report('note', `chain ${chainId} can be followed again`);
      away = false;
    } else if (!away && !stalled && sinceLookS * 1_000 >= patienceMs) {
      away = true;
      report('alarm', `chain ${chainId} could not be followed for ${sinceLookS} s: ${lastError ?? 'its nodes do not answer'}; orders are taken and fills wait: `
      + 'look at its nodes and at the RPC URLs of the settings');
    }
  };
}

/** So long may a fill wait to be sent. */
const WAITS_AT_MOST_S = 300;

/** To be called with the settlement's health every now and then. */
export function createWaitingAlarm({ chainId, report }: { readonly chainId: number; readonly report: Report }): (health: SettlementHealth) => void {
  let waits = false;
  return ({ oldestWaitingS, waitingFills, settlementTrouble }) => {
    const waitsNow = oldestWaitingS !== null && oldestWaitingS > WAITS_AT_MOST_S;
    if (waitsNow && !waits) {
      report('alarm', `chain ${chainId}: a fill has waited ${oldestWaitingS} s to be sent, and ${waitingFills} wait: `
      + (settlementTrouble ?? 'look at the chain, its nodes and the key that settles'));
    }
    if (waits && !waitsNow) report('note', `chain ${chainId}: no fill waits for long any more`);
    waits = waitsNow;
  };
}
