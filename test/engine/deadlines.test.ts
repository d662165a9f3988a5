/** The heap of orders by their deadlines: it gives them in order, also beyond one chunk, and after a snapshot. */
import assert from 'node:assert/strict';
import { Deadlines } from '../../engine/rules/deadlines.js';
import { seeded } from '../bench/book-operations.js';

describe('deadlines', () => {
  const random = seeded(11);
  const times = Array.from({ length: 5_000 }, () => Math.floor(random() * 1_000));
  const before = (a: number, b: number): boolean => times[a]! < times[b]! || (times[a] === times[b] && a < b);
  const sorted = (slots: Iterable<number>): number[] => [...slots].sort((a, b) => before(a, b) ? -1 : 1);
  const drained = (deadlines: Deadlines): number[] => Array.from({ length: deadlines.length }, () => {
    const first = deadlines.first();
    deadlines.pop();
    return first;
  });
  const filled = (count: number): Deadlines => {
    const deadlines = new Deadlines(before);
    for (let slot = 0; slot < count; slot++) deadlines.push(slot);
    return deadlines;
  };

  for (const count of [0, 1, 1_023, 1_024, 1_025, 5_000]) {
    it(`gives ${count} orders in order, and reading them changes nothing`, () => {
      const deadlines = filled(count);
      const expected = sorted(Array(count).keys());
      assert.deepEqual([...deadlines.inOrder()], expected);
      assert.deepEqual(drained(deadlines), expected);
      assert.equal(deadlines.first(), -1);
    });

    it(`goes on from a snapshot of ${count} orders, whose numbers stay as they are`, () => {
      const dump = filled(count).dump();
      const copy = dump.slice();
      const restored = Deadlines.restore(before, dump);
      for (let slot = count; slot < Math.min(count + 10, times.length); slot++) restored.push(slot);
      assert.deepEqual(restored.dump(), filled(Math.min(count + 10, times.length)).dump());
      assert.deepEqual(drained(restored), sorted(Array(Math.min(count + 10, times.length)).keys()));
      assert.deepEqual(dump, copy);
    });
  }

  it('a snapshot of fewer orders than there were has those that are left', () => {
    const deadlines = filled(3_000);
    for (let n = 0; n < 2_500; n++) deadlines.pop();
    assert.deepEqual(sorted(deadlines.dump()), sorted(Array(3_000).keys()).slice(2_500));
  });
});
