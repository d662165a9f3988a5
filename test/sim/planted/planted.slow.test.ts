/**
 * The simulation finds bugs that are planted into the real code, and the shortest story of what it finds is short. Here some bugs that take few
 * seeds; `node tools/run.mjs test/sim/planted/main` tries all.
 */
import assert from 'node:assert/strict';
import { findPlanted, smallestPlanted } from './find.js';
import { MUTATIONS } from './mutations.js';

const SOME = [
  'the lane does not wait until its transactions are recorded', 'the engine reads the clock of its machine', 'a group commit appends its batch twice',
  'a quick market is resolved by its prices the wrong way round', 'the role lane records no settlement',
  'a cancel-all is answered and not written', 'the role settlement does not compare the orders with its settings', 'the role prices looks at no unresolved market',
];
const [MOST_SEEDS, STEPS] = [30, 40];
const numberOf = (wanted: string): number => MUTATIONS.findIndex(({ name }) => name === wanted);

describe('simulation: planted bugs', () => {
  for (const name of SOME) {
    it(`${name}: found`, async () => {
      const { seeds, how } = await findPlanted(numberOf(name), { first: 1, most: MOST_SEEDS, steps: STEPS });
      assert.ok(seeds !== undefined, how);
    });
  }

  it('the shortest story of a find has a tenth of its events, and still breaks the same invariant', async () => {
    const name = 'after a lost answer an append goes to the new end of the log';
    const smallest = await smallestPlanted(numberOf(name), { seed: 3, steps: STEPS });
    assert.ok(smallest !== undefined && smallest.storyEvents > 0 && smallest.storyEvents <= STEPS / 10, JSON.stringify(smallest));
    assert.match(smallest.end, /broken: nothing is appended twice: /);
  });
});
