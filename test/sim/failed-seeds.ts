/** Every seed that ever failed, with the length of its story and what was wrong; CI runs them all. A seed stays here for good. */

export interface FailedSeed {
  readonly seed: number;
  readonly steps: number;
  readonly was: string;
}

export const FAILED_SEEDS: readonly FailedSeed[] = [
  { seed: 15, steps: 40, was: 'two nodes counted too many transactions at once, which the lane believes by design: the simulation plants that no more' },
  { seed: 5_094, steps: 40, was: 'the sender of quick markets saw the chain through the intake, which another process had: a fault of the simulation\'s own wiring' },
  { seed: 492, steps: 40, was: 'a reorganisation moved what a stranger had brought below the block at which the request was taken, where the relayer did not look' },
  { seed: 34, steps: 40, was: 'a quick market was resolved while its sender asked for the chain\'s time, and the market that the sender had was the engine\'s own' },
  {
    seed: 588_565_137, steps: 40,
    was: 'one node\'s latest block made a block look final that another node had on a branch that the chain had left: its facts were recorded',
  },
  { seed: 588_565_046, steps: 40, was: 'a source told a price that was drawn a second before a fault of it ended: a fault of the simulation\'s source' },
  {
    seed: 1_284_878_726, steps: 40,
    was: 'an order stood twice in a batch, would match at once and then no more, and was accepted: a fault of the simulation, which took the first answer as final',
  },
];
