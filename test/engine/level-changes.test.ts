/** Changes of levels as bytes: they come back as they were, whatever they are and however they were added. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { levelChanges, readLevelChanges, type LevelChange } from '../../engine/records/level-changes.js';

/** In the order of a log: positions and times that never fall. */
const changes = fc.array(fc.record({
  forward: fc.nat(300), later: fc.nat(100_000), place: fc.integer({ min: 1, max: 3_999_999 }),
  size: fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 30n }), fc.bigInt({ min: 0n, max: 2n ** 99n }),
    fc.constantFrom(127n, 128n, 2n ** 49n - 1n, 2n ** 49n, 2n ** 53n)),
}), { maxLength: 60 }).map((steps) => {
  let [position, at] = [2 ** 40, 1_700_000_000_000];
  return steps.map(({ forward, later, place, size }): LevelChange => ({ position: position += forward, at: at += later, place, size }));
});

const bytesOf = (list: readonly LevelChange[], written?: Buffer): Buffer => {
  const to = levelChanges(written);
  for (const change of list) to.add(change);
  assert.equal(to.count(), readLevelChanges(to.bytes()).length);
  return to.bytes();
};

describe('engine: changes of levels as bytes', () => {
  it('come back as they were', () => {
    fc.assert(fc.property(changes, (list) => { assert.deepEqual(readLevelChanges(bytesOf(list)), list); }));
  });

  it('are the same bytes wherever the adding was interrupted', () => {
    fc.assert(fc.property(changes, fc.nat(60), (list, cut) => {
      assert.deepEqual(bytesOf(list.slice(cut), bytesOf(list.slice(0, cut))), bytesOf(list));
    }));
  });

  it('have these bytes for ever: the read models keep them', () => {
    const list = [{ position: 300, at: 5, place: 1_500_000, size: 127n }, { position: 301, at: 7, place: 2_000_001, size: 2n ** 64n }];
    assert.equal(bytesOf(list).toString('hex'), `ac0205e0c65b7f010281897a${'80'.repeat(9)}02`);
  });

  it('cut within a change are refused', () => {
    const bytes = bytesOf([{ position: 300, at: 5, place: 1_500_000, size: 2n ** 70n }]);
    for (let length = 1; length < bytes.length; length++) {
      assert.throws(() => readLevelChanges(bytes.subarray(0, length)), /end within a change/);
    }
  });
});
