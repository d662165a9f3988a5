/** The simulation finds bugs that are planted into the real code: here the ones that take few seeds; `npm run sim:planted` tries all. */
import assert from 'node:assert/strict';
import { findPlanted } from './find.js';
import { MUTATIONS } from './mutations.js';

const SOME = ['the lane does not wait until its transactions are recorded', 'the engine reads the clock of its machine', 'a group commit appends its batch twice'];
const MOST_SEEDS = 30;

describe('simulation: planted bugs', () => {
  for (const name of SOME) {
    it(`${name}: found`, async () => {
      const { seeds, how } = await findPlanted(MUTATIONS.findIndex((each) => each.name === name), { first: 1, most: MOST_SEEDS, steps: 40 });
      assert.ok(seeds !== undefined, how);
      assert.match(how, /broken: /);
    });
  }
});
