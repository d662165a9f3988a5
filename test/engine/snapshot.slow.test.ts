/** Snapshots of large states: a restart in the middle of a long history changes nothing. */
import { extent, SEED } from '../support/extent.js';
import { histories, history, restartsChangeNothing } from '../support/watched-histories.js';

const LENGTH = 12_000;
const [seed, restarts] = extent({ push: [11, [7_300]], long: [SEED, [0, 1, 777, 5_000, 7_300, LENGTH - 1]] });

describe(`engine snapshots of long histories (SEED=${SEED})`, () => {
  for (const [name, profile, create] of histories) {
    it(`a restart in the middle of the history of ${name} changes nothing`, () => {
      restartsChangeNothing(history(seed, profile, LENGTH, create), restarts);
    });
  }
});
