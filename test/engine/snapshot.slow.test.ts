/** Snapshots of large states: a restart in the middle of a long history changes nothing. */
import { histories, history, restartsChangeNothing } from '../support/restarted-engines.js';

describe('engine snapshots of long histories', () => {
  for (const [name, profile, create] of histories) {
    it(`a restart at any point of the history of ${name} changes nothing`, () => {
      restartsChangeNothing(history(11, profile, 12_000, create), [0, 1, 777, 5_000, 7_300, 11_999]);
    });
  }
});
