/** Alarms for what no worker tells by itself: a chain that is away for long, and fills that wait for long. Each once, until it has passed. */
import type { Report } from '../../command/chain/report.js';
import type { ChainState } from '../roles/health.js';

export interface ChainAlarmsOptions {
  readonly chainId: number;
  /** A chain counts as away that could not be looked at for so long. */
  readonly awayAfterMs: number;
  /** Whether the indexer, once it runs, tells of a chain without new blocks after the same time: it is given that time to do so. */
  readonly stallsAreTold: boolean;
  readonly report: Report;
}

/** So long may a fill wait to be sent. */
const WAITS_AT_MOST_S = 300;

/** To be called with the chain's state every now and then. */
export function createChainAlarms({ chainId, awayAfterMs, stallsAreTold, report }: ChainAlarmsOptions): (state: ChainState) => void {
  let away = false;
  let waits = false;

  function lookAtNodes({ reachable, stalled, finalBlock, sinceLookS, lastError }: ChainState): void {
    const patienceMs = stallsAreTold && finalBlock !== null ? 2 * awayAfterMs : awayAfterMs;
    if (reachable) {
      if (away) report('note', `chain ${chainId} can be followed again`);
      away = false;
    } else if (!away && !stalled && sinceLookS * 1_000 >= patienceMs) {
      away = true;
      report('alarm', `chain ${chainId} could not be followed for ${sinceLookS} s: ${lastError ?? 'its nodes do not answer'}; orders are taken and fills wait: `
      + 'look at its nodes and at the RPC URLs of the settings');
    }
  }

  function lookAtFills({ oldestWaitingS, waitingFills, settlementTrouble }: ChainState): void {
    const waitsNow = oldestWaitingS !== null && oldestWaitingS > WAITS_AT_MOST_S;
    if (waitsNow && !waits) {
      report('alarm', `chain ${chainId}: a fill has waited ${oldestWaitingS} s to be sent, and ${waitingFills} wait: `
      + (settlementTrouble ?? 'look at the chain, its nodes and the key that settles'));
    }
    if (waits && !waitsNow) report('note', `chain ${chainId}: no fill waits for long any more`);
    waits = waitsNow;
  }

  return (state) => {
    // That has been told, and nothing of it passes.
    if (state.stopped !== null) return;
    lookAtNodes(state);
    lookAtFills(state);
  };
}
