/** The alarm for blocks of the development chain that are mined but not on disk: nothing is concluded from such blocks, so confirmations stop. */
import type { Report } from '../../engine/report.js';
import type { KeptStatus } from './chain-keeper.js';

/** A write and the pause after it take less than this, unless something is wrong. */
const UNKEPT_AT_MOST_MS = 10_000;

/** Returns a function to call regularly with the keeper's state and the time on its clock. An alarm is raised once, until its cause has passed. */
export function createKeptAlarm(report: Report): (status: KeptStatus, nowMs: number) => void {
  let raised = false;
  return ({ keptBlock, unkeptBlocks, unkeptSinceMs, trouble }, nowMs) => {
    if (unkeptSinceMs === undefined) {
      if (raised) report('note', `the development chain is on disk again, up to block ${keptBlock}`);
      raised = false;
    } else if (!raised && nowMs - unkeptSinceMs >= UNKEPT_AT_MOST_MS) {
      raised = true;
      const forS = Math.round((nowMs - unkeptSinceMs) / 1_000);
      report('alarm', `blocks ${keptBlock + 1} to ${keptBlock + unkeptBlocks} of the development chain are mined but not on disk for ${forS} s: `
      + `${trouble ?? 'anvil does not give its state'}. Fills in them stay unconfirmed until they are on disk. Check that anvil runs and that DATA_DIR can be written`);
    }
  };
}
