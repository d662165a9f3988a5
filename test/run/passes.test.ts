/** What CI runs is left out only where it has passed on the very files that it covers. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selectTests } from './selection.js';

type Covers = readonly string[] | ((file: string) => boolean);

interface Passes {
  digestOf(covers: Covers, root?: string): string;
  hasPassed(name: string, covers: Covers, root: string): boolean;
  notePass(name: string, digest: string, root: string): void;
}

const SCRIPTS = new URL('../../../.ci/', import.meta.url);
const PART = 'A part';
const COVERS = ['src/', 'lock.json'];

describe('the record of CI\'s long parts', () => {
  let passes: Passes;
  let root: string;

  before(async () => { passes = await import(new URL('passes.mjs', SCRIPTS).href) as Passes; });
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'prediction-exchange-passes-'));
    execFileSync('git', ['init', '--quiet'], { cwd: root });
    mkdirSync(join(root, 'src'));
    for (const [file, text] of [['src/a.ts', 'a'], ['src/b.ts', 'b'], ['lock.json', '{}'], ['other.md', 'x']]) writeFileSync(join(root, file!), text!);
  });
  afterEach(() => { rmSync(root, { recursive: true }); });

  const hasPassed = () => passes.hasPassed(PART, COVERS, root);
  const pass = () => { passes.notePass(PART, passes.digestOf(COVERS, root), root); };

  it('has no part that has never passed', () => { assert.equal(hasPassed(), false); });

  it('has a part that has passed, whatever else changes', () => {
    pass();
    writeFileSync(join(root, 'other.md'), 'y');
    assert.equal(hasPassed(), true);
    assert.equal(passes.hasPassed('Another part', COVERS, root), false);
  });

  const changes: Readonly<Record<string, () => void>> = {
    changed: () => { writeFileSync(join(root, 'src/a.ts'), 'c'); },
    added: () => { writeFileSync(join(root, 'src/c.ts'), ''); },
    renamed: () => {
      writeFileSync(join(root, 'src/c.ts'), readFileSync(join(root, 'src/b.ts')));
      rmSync(join(root, 'src/b.ts'));
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`has it no more when a file that it covers is ${what}`, () => {
      pass();
      change();
      assert.equal(hasPassed(), false);
    });
  }

  it('does not take text that moves from one file to the next for the same', () => {
    pass();
    writeFileSync(join(root, 'src/a.ts'), 'ab');
    writeFileSync(join(root, 'src/b.ts'), '');
    assert.equal(hasPassed(), false);
  });

  it('covers by a function what no table names, but never the records themselves', () => {
    const noDocuments = (file: string) => !file.endsWith('.md');
    const have = () => passes.hasPassed(PART, noDocuments, root);
    passes.notePass(PART, passes.digestOf(noDocuments, root), root);
    writeFileSync(join(root, 'other.md'), 'y');
    writeFileSync(join(root, 'new.md'), 'z');
    assert.equal(have(), true);
    writeFileSync(join(root, 'new.ts'), '');
    assert.equal(have(), false);
  });

  it('refuses a path that covers nothing', () => {
    assert.throws(() => passes.digestOf(['src/', 'gone/'], root), /^Error: gone\/ covers no file: correct \.ci\/parts\.mjs$/);
  });

  it('covers files that exist', async () => {
    const { LONG } = await import(new URL('parts.mjs', SCRIPTS).href) as { LONG: Readonly<Record<string, { covers: readonly string[] }>> };
    assert.ok(Object.keys(LONG).length >= 6);
    for (const { covers } of Object.values(LONG)) passes.digestOf(covers);
  });

  it('runs for documents each test that reads one', async () => {
    const { DOCUMENTS: { command } } = await import(new URL('parts.mjs', SCRIPTS).href) as { DOCUMENTS: { command: string } };
    const [, words = ''] = /^TESTS=(\S+) npm test$/.exec(command) ?? [];
    const tests = new URL('../../../test/', import.meta.url);
    const usual = readdirSync(tests, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'));
    const run = selectTests(usual, words).flatMap(({ batches }) => batches.flatMap(({ files }) => files.flat()));
    const reading = selectTests(usual, '').flatMap(({ batches }) => batches.flatMap(({ files }) => files.flat()))
      .filter((file) => /\.md['`]/.test(readFileSync(new URL(file, tests), 'utf8')));
    assert.ok(reading.length > 10);
    assert.deepEqual(reading.filter((file) => !run.includes(file)), []);
  });
});
