/** Which tests run, and which of them side by side. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FIRST } from './kinds.js';
import { selectTests } from './selection.js';

const FILES = [
  'book/book.test.ts', 'engine/random.slow.test.ts', 'query/trades.services.test.ts', 'kafka/feed.kafka.test.ts', 'kafka/role.kafka.test.ts', 'lane/lane.chain.test.ts', 'indexer/indexer.chain.test.ts', 'relayer/relayer.chain.test.ts',
  'settlement/restart.chain.test.ts',
  'system/all.crash.test.ts', 'system/roles.crash.test.ts',
  'lane/lane.geth.test.ts', 'system/python.auditors.test.ts', 'system/roles.eventstore.test.ts',
];

const chosen = (wanted: string) => selectTests(FILES, wanted).map(({ batches }) => batches.map(({ name, files }) => [name, ...files.map((together) => together.join(' '))]));

/** The roles' file takes long, and begins first. */
const ALONE = ['system/roles.crash.test.ts', 'system/all.crash.test.ts'].map((file) => [file, file]);

describe('the choice of tests', () => {
  it('is all but those of other nodes, stores and languages: first what takes long, and then the crashes', () => {
    assert.deepEqual(chosen(''), [
      [
        [
          'kafka, slow, chain, services, unit', 'kafka/feed.kafka.test.ts kafka/role.kafka.test.ts', 'settlement/restart.chain.test.ts', 'engine/random.slow.test.ts', 'indexer/indexer.chain.test.ts',
          'lane/lane.chain.test.ts', 'relayer/relayer.chain.test.ts', 'query/trades.services.test.ts', 'book/book.test.ts',
        ],
      ],
      ALONE,
    ]);
  });

  it('runs three files of crashes at once, each in a process of its own', () => {
    const [lists, crashes] = selectTests(FILES, '');
    assert.deepEqual([lists!.name, lists!.batches.map(({ processes }) => processes)], ['kafka, slow, chain, services, unit', [4]]);
    assert.deepEqual([crashes!.name, crashes!.atOnce], ['crash', 3]);
  });

  it('names among those that begin first only files that exist', () => {
    const files = readdirSync(fileURLToPath(new URL('../../../test', import.meta.url)), { recursive: true, encoding: 'utf8' });
    assert.deepEqual(FIRST.filter((file) => !files.includes(file)), []);
  });

  it('has no more processes than files', () => {
    assert.deepEqual(selectTests(FILES, 'query/trades,lane/lane').map(({ batches }) => batches.map(({ processes }) => processes)), [[2]]);
  });

  it('is one kind, or several', () => {
    assert.deepEqual(chosen('geth'), [[['geth', 'lane/lane.geth.test.ts']]]);
    assert.deepEqual(chosen('slow,kafka,crash'), [
      [['kafka, slow', 'kafka/feed.kafka.test.ts kafka/role.kafka.test.ts', 'engine/random.slow.test.ts']], ALONE,
    ]);
  });

  it('is the files with a text in their path; those on demand only where no other has it', () => {
    assert.deepEqual(chosen('system/'), [ALONE]);
    assert.deepEqual(chosen('lane/lane.geth'), [[['geth', 'lane/lane.geth.test.ts']]]);
    assert.deepEqual(chosen('system/roles.eventstore'), [[['eventstore', 'system/roles.eventstore.test.ts']]]);
  });

  it('is kinds and parts of paths together, each file once', () => {
    assert.deepEqual(chosen('book/,unit,geth'), [[['unit', 'book/book.test.ts']], [['geth', 'lane/lane.geth.test.ts']]]);
  });

  it('is refused where a word names no test', () => {
    assert.throws(() => chosen('unit,nowhere'), /^Error: TESTS names no test by "nowhere": expected unit, slow, .*, or a part of a test's path; several/);
    assert.throws(() => chosen('unit,'), /names no test by ""/);
  });
});
