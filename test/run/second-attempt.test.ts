/** Few files that have failed run once more; nothing else can be made good by a second attempt. */
import assert from 'node:assert/strict';
import { filesToRepeat } from './second-attempt.js';

const FILES = ['lane/a.chain', 'query/b.services', 'system/c.crash', 'kafka/d.kafka', 'sim/e.slow', 'engine/f'].map((name) => `${name}.test.ts`);
const failuresOf = (...files: readonly string[]) => files.map((file) => ({ file, title: 'is', text: '' }));

describe('a second attempt', () => {
  it('is made once for each of up to three files', () => {
    assert.deepEqual(filesToRepeat([], FILES), []);
    assert.deepEqual(filesToRepeat(failuresOf(FILES[1]!, FILES[0]!, FILES[1]!), FILES), [FILES[1], FILES[0]]);
    assert.deepEqual(filesToRepeat(failuresOf(...FILES.slice(0, 3)), FILES), FILES.slice(0, 3));
    assert.deepEqual(filesToRepeat(failuresOf(...FILES.slice(0, 4)), FILES), []);
  });

  for (const [what, file] of Object.entries({ 'of a process': 'kafka, chain, services (1 of 3)', 'of all tests': '', 'of a seed': FILES[4]!, 'of a unit test': FILES[5]! })) {
    it(`is not made where something ${what} has failed too`, () => { assert.deepEqual(filesToRepeat(failuresOf(FILES[0]!, file), FILES), []); });
  }
});
