/** The lane's last published state, as the settlement worker has read it, and when it is to be read again. */
import type { PublishedLaneState } from '../lane/requests.js';
import type { SettlementTimings } from './rules.js';

export function createLaneView({ laneLookMs, laneSilentMs }: Pick<SettlementTimings, 'laneLookMs' | 'laneSilentMs'>, now: () => number) {
  let state: PublishedLaneState | undefined;
  let heardAtMs = now();
  let lookedAtMs = -Infinity;
  let rung = true;
  /** Also true when the clock was set back. */
  const isDue = (): boolean => now() - lookedAtMs >= laneLookMs || now() < lookedAtMs;
  return {
    hasRung: (): void => { rung = true; },
    /** Whether there may be changes: the lane rang, or the last look was too long ago. */
    isRung: (): boolean => rung || isDue(),
    heard: (): void => { rung = false; },
    isDue,
    seen(latest: PublishedLaneState | undefined): void {
      lookedAtMs = now();
      if (latest?.seenAtMs !== state?.seenAtMs) heardAtMs = lookedAtMs;
      state = latest;
    },
    blockGasLimit: () => state?.blockGasLimit,
    /** Silence of the lane counts as a problem only while requests wait for it. */
    problem(waits: boolean): string | undefined {
      if (waits && now() - heardAtMs >= laneSilentMs) return 'no process works on the lane';
      return state?.problem?.text;
    },
  };
}
