/** Every seed that ever failed, with the length of its story and what was wrong; CI runs them all. A seed stays here for good. */

export interface FailedSeed {
  readonly seed: number;
  readonly steps: number;
  readonly was: string;
}

export const FAILED_SEEDS: readonly FailedSeed[] = [
];
