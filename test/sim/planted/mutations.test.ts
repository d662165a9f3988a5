/** Each invariant can fail: a bug is planted for it, into a text that is there. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { INVARIANTS } from '../invariants/names.js';
import { MUTATIONS } from './mutations.js';

describe('simulation: the list of planted bugs', () => {
  it('has one at least for every invariant', () => {
    assert.deepEqual(INVARIANTS.filter((invariant) => !MUTATIONS.some(({ breaks }) => breaks === invariant)), []);
  });

  it('changes texts that are in the compiled code once', () => {
    const timesIn = (file: string, text: string): number => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8').split(text).length - 1;
    assert.deepEqual(MUTATIONS.filter(({ file, from }) => timesIn(file, from) !== 1).map(({ name }) => name), []);
  });
});
