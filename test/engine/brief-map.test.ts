/** A map for values that stay for milliseconds: what it gives, in which order, and that what was taken is gone. */
import assert from 'node:assert/strict';
import { BriefMap } from '../../engine/waiting.js';

describe('a map for values that stay for milliseconds', () => {
  it('has what was set until it is taken, once', () => {
    const map = new BriefMap<string, number>();
    map.set('a', 1);
    map.set('a', 2);
    assert.deepEqual([map.get('a'), map.get('b')], [2, undefined]);
    assert.deepEqual([map.take('a'), map.take('a'), map.get('a')], [2, undefined, undefined]);
  });

  it('gives all values in the order in which they were set, also while they are taken', () => {
    const map = new BriefMap<number, string>();
    for (const [key, value] of [[3, 'c'], [1, 'a'], [2, 'b']] as const) map.set(key, value);
    const seen: string[] = [];
    for (const value of map.values()) {
      seen.push(value);
      map.take(seen.length === 1 ? 3 : 1);
    }
    assert.deepEqual(seen, ['c', 'a', 'b']);
    assert.deepEqual([map.takeAll(), map.takeAll(), [...map.values()]], [['b'], [], []]);
  });
});
