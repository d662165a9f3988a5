/** Failures of tests name the lines of the sources. */
import assert from 'node:assert/strict';
import { withSources } from './traces.js';

describe('the trace of a failure', () => {
  it('names the source, with its line', () => {
    const { stack } = new Error('here');
    assert.match(stack!, /dist\/test\/run\/traces\.test\.js:\d+:\d+/);
    assert.match(withSources(stack!), /^Error: here\n.*[^t]\/test\/run\/traces\.test\.ts:7:\d+\)/);
  });

  it('keeps places of files without a map, and everything else', () => {
    const text = 'no\n    at file:///nowhere/a.js:1:2\n    at node:fs:3:4 /x.js:1:1';
    assert.equal(withSources(text), text);
  });
});
