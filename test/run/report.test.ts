/** What a run shows: its last line counts what ran, and nothing that failed or was left out is passed over. */
import assert from 'node:assert/strict';
import { failureText, fileLine, summary } from './report.js';

const part = (name: string, passed: number, failed: number, file = name) => ({
  name, ms: 1_500, counts: new Map(passed + failed === 0 ? [] : [[file, { passed, failed }]]),
});

describe('the report of a run', () => {
  it('ends with what passed and failed', () => {
    const text = summary({ failures: [], parts: [part('unit', 10, 0), part('chain', 3, 0)], leftOut: [] });
    assert.deepEqual(text.split('\n'), ['', 'How long it took:', '    1.5 s  unit (10 passed, 0 failed)', '    1.5 s  chain (3 passed, 0 failed)', '', '13 passed, 0 failed']);
  });

  it('repeats each failure', () => {
    const failure = { file: 'lane/a.test.ts', title: 'the lane sends', text: 'Error: no\n    at b' };
    const text = summary({ failures: [failure], parts: [part('unit', 10, 1)], leftOut: [] });
    assert.ok(text.includes(`Failures:\n${failureText(failure)}\n`));
    assert.equal(failureText(failure), '✘ lane/a.test.ts: the lane sends\n    Error: no\n        at b');
    assert.ok(text.endsWith('\n10 passed, 1 failed'));
  });

  it('counts the last attempt of a file, and shows what had failed before it', () => {
    const failure = { file: 'lane/a.test.ts', title: 'the lane sends', text: 'Error: late' };
    const parts = [part('unit', 10, 0), part('chain', 3, 1, failure.file), part('once more', 4, 0, failure.file)];
    const text = summary({ failures: [failure], parts, leftOut: [] });
    assert.ok(text.startsWith(`\nFailed, and passed when their file ran once more, alone:\n${failureText(failure)}\n`), text);
    assert.ok(text.includes('chain (3 passed, 1 failed)\n    1.5 s  once more (4 passed, 0 failed)'), text);
    assert.ok(text.endsWith('\n14 passed, 0 failed'));
    assert.ok(summary({ failures: [failure], parts: [...parts.slice(0, 2), part('once more', 3, 1, failure.file)], leftOut: [] }).endsWith('\n13 passed, 1 failed'));
  });

  it('names what was left out, and counts it as skipped', () => {
    const leftOut = [{ reason: 'they need Java: it is missing', files: ['kafka/a.kafka.test.ts', 'kafka/b.kafka.test.ts'], tests: 7 }];
    const lines = summary({ failures: [], parts: [part('unit', 10, 0), part('the end', 0, 0)], leftOut }).split('\n');
    assert.ok(lines.includes('    1.5 s  the end'));
    assert.deepEqual(lines.slice(-4), ['Left out:', '  7 tests of kafka/a.kafka.test.ts, kafka/b.kafka.test.ts: they need Java: it is missing', '', '10 passed, 0 failed, 7 skipped']);
  });

  it('has a line per file, with the tests\' names where they are wanted', () => {
    const file = { type: 'ended', file: 'lane/a.test.ts', ms: 2_345, passed: 2, failed: 0, titles: ['a b', 'a c'] } as const;
    assert.equal(fileLine(file, false), '✔   2.3 s  lane/a.test.ts (2 passed)');
    assert.equal(fileLine(file, true), '✔   2.3 s  lane/a.test.ts (2 passed)\n            a b\n            a c');
    assert.equal(fileLine({ ...file, failed: 1 }, false), '✘   2.3 s  lane/a.test.ts (2 passed, 1 failed)');
  });
});
