/**
 * Slows settlement down when transactions keep reverting, or one succeeds and leaves all its fills untouched. Then no
 * single fill is the cause (the key may have lost its role, or the collateral is paused), so one transaction at a time
 * finds out when it is over, and no gas is spent on others.
 */
import { backoffMs } from '../../engine/waiting.js';
import type { QueueRules } from './rules.js';

export interface Pace {
  isSlow(): boolean;
  /** Whether another transaction may go beside `open` ones. */
  allows(open: number, nowMs: number): boolean;
  /** A transaction, or another one's, has settled something. */
  settled(): void;
  /** A transaction has succeeded and touched none of its fills. */
  stopped(nowMs: number): void;
  /**
   * A transaction has reverted; `others`: there are some that were sent before that was known. They do not count again.
   */
  reverted(others: boolean, nowMs: number): void;
}

export function createPace({ slowAfter, pauseMs, maxSlowPauseMs }: Pick<QueueRules, 'slowAfter' | 'pauseMs' | 'maxSlowPauseMs'>): Pace {
  let reverts = 0;
  let quietUntilMs = 0;
  const isSlow = (): boolean => reverts >= slowAfter;
  const rest = (nowMs: number): void => {
    quietUntilMs = nowMs + backoffMs(reverts - slowAfter + 1, { firstMs: pauseMs, longestMs: maxSlowPauseMs });
  };
  return {
    isSlow,
    allows: (open, nowMs) => !isSlow() || (open === 0 && nowMs >= quietUntilMs),
    settled() { reverts = 0; },
    stopped(nowMs) {
      reverts = Math.max(reverts + 1, slowAfter);
      rest(nowMs);
    },
    reverted(others, nowMs) {
      if (!isSlow() || !others) reverts++;
      if (isSlow()) rest(nowMs);
    },
  };
}
