/** docs/scale.md has the tables that the model gives, so that its text cannot outlive its figures. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { extent } from '../support/extent.js';
import { DIVISIBLE, ONE, SINGLE, fullAt, times } from './model.js';
import { needs, waits, walls } from './tables.js';

const document = readFileSync(new URL('../../../docs/scale.md', import.meta.url), 'utf8');

describe('docs/scale.md', () => {
  for (const [what, make] of Object.entries({ needs, walls, ...extent({ push: {}, long: { waits } }) })) {
    it(`has the table of ${what} as \`node tools/run.mjs test/scale/main\` prints it`, () => {
      assert.ok(document.includes(make()), `docs/scale.md lacks this table; run node tools/run.mjs test/scale/main:\n${make()}`);
    });
  }

  it('has the head of the table of waits, and two of its rows, of one process and of many', () => {
    const lines = new Set(document.split('\n'));
    for (const line of waits([[1_000, 1], [20_000, 8]]).split('\n')) assert.ok(lines.has(line), line);
  });

  it('names as the first wall the part that is full first', () => {
    const [first] = [...SINGLE].sort((a, b) => fullAt(a) - fullAt(b));
    assert.equal(first!.part, 'the chain\'s gas');
    assert.ok(fullAt(first!) < 10, 'so it is one at ten times the load');
  });

  it('needs no fewer processes for more load, and is 70 % busy where it says', () => {
    for (const { part, processes } of DIVISIBLE) {
      for (const n of [10, 100]) assert.ok(processes(times(ONE, n))! <= processes(times(ONE, 2 * n))!, part);
    }
    for (const single of SINGLE) assert.ok(Math.abs(single.busy(times(ONE, fullAt(single))) - 0.7) < 1e-9, single.part);
  });
});
