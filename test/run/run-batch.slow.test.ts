/** A mocha process of a run: what fails in it is told, however it fails, and a process that dies has failed. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Counts } from './messages.js';
import { total, type Failure } from './report.js';
import { runBatch } from './run-batch.js';

describe('a mocha process of a run', () => {
  let folder: string;

  before(() => { folder = mkdtempSync(join(tmpdir(), 'prediction-exchange-batch-')); });
  after(() => { rmSync(folder, { recursive: true }); });

  /** Runs files with these texts, a.js, b.js, …, and gives what came of them. */
  async function run(texts: readonly string[], { args = [], processes = 1, endMs }: {
    args?: readonly string[]; processes?: number; endMs?: number;
  } = {}): Promise<{
    part: Counts & { name: string }; failures: Failure[]; ended: string[];
  }> {
    const files = texts.map((text, i) => {
      const file = join(folder, `${String.fromCharCode(97 + i)}.js`);
      writeFileSync(file, text);
      return file;
    });
    const failures: Failure[] = [];
    const ended: string[] = [];
    const parts = await runBatch({
      batch: { name: 'chain', processes, files: files.map((file) => [file]) }, environment: process.env, args, ...endMs === undefined ? {} : { endMs },
      onFailure: (failure) => failures.push(failure),
      onEnded: ({ file, passed, failed, titles }) => ended.push(`${file.slice(-4)}: ${passed} ${failed} ${titles.join()}`),
    });
    return { part: { name: parts.map(({ name }) => name).join(), ...total(parts.flatMap(({ counts }) => [...counts.values()])) }, failures, ended };
  }

  const one = (body: string) => `describe('one', () => { it('is', async () => { ${body} }); });`;

  it('tells of each file what passed and failed', async () => {
    const { part, failures, ended } = await run([
      `${one('')} describe('two', () => { it('is', () => {}); });`,
      `${one('throw new Error("no", { cause: new Error("because") })')} describe('three', () => { it('is', () => {}); });`,
    ]);
    assert.deepEqual([part.name, part.passed, part.failed], ['chain', 3, 1]);
    assert.deepEqual(ended, ['a.js: 2 0 one is,two is', 'b.js: 1 1 three is']);
    assert.deepEqual(failures.map(({ file, title }) => [file.slice(-4), title]), [['b.js', 'one is']]);
    assert.match(failures[0]!.text, /^Error: no\n[^]*caused by Error: because\n/);
  });

  it('counts a hook that fails, also one of all files', async () => {
    const { part, failures } = await run([`describe('one', () => { before(() => { throw new Error('no'); }); it('is', () => {}); });`, `after(() => { throw new Error('late'); }); ${one('')}`]);
    assert.deepEqual([part.passed, part.failed], [1, 2]);
    assert.deepEqual(failures.map(({ title }) => title), ['one "before all" hook for "is"', '"after all" hook in "{root}"']);
  });

  it('fails for a test that is pending, or the only one', async () => {
    for (const text of ['describe("one", () => { it.skip("is", () => {}); });', 'describe.only("one", () => { it("is", () => {}); });']) {
      assert.ok((await run([text])).part.failed > 0, text);
    }
  });

  it('has failed when it dies, and names the file and those that have not run', async () => {
    const { part, failures } = await run([one(''), one('process.kill(process.pid, "SIGKILL"); await new Promise(() => {})'), one('')]);
    assert.deepEqual([part.passed, part.failed], [1, 2]);
    assert.deepEqual(failures.map(({ file, text }) => [file.slice(-4), text]), [
      ['b.js', 'ended with SIGKILL before its last test'], ['c.js', 'the process ended before this file'],
    ]);
  });

  it('has failed when a file cannot be loaded, and runs the others', async () => {
    const { part, failures } = await run(['import "nowhere";', one('')]);
    assert.deepEqual([part.passed, part.failed], [1, 1]);
    assert.deepEqual(failures.map(({ file }) => file.slice(-4)), ['a.js']);
    assert.match(failures[0]!.text, /Cannot find package 'nowhere'/);
  });

  it('takes what the other processes have left, and what one has not run is run by another', async () => {
    const { part, failures, ended } = await run([one('process.kill(process.pid, "SIGKILL"); await new Promise(() => {})'), one(''), one('')], { processes: 2 });
    assert.deepEqual([part.name, part.passed, part.failed], ['chain (1 of 2),chain (2 of 2)', 2, 1]);
    assert.deepEqual(failures.map(({ file, text }) => [file.slice(-4), text]), [['a.js', 'ended with SIGKILL before its last test']]);
    assert.deepEqual(ended, ['b.js: 1 0 one is', 'c.js: 1 0 one is']);
  });

  it('has failed when something keeps it alive after its last test', async () => {
    const { part, failures } = await run([one('setInterval(() => {}, 1_000)')], { endMs: 300 });
    assert.deepEqual([part.passed, part.failed], [1, 1]);
    assert.match(failures[0]!.text, /^goes on 0\.3 s after its last test: something was left open$/);
  });

  it('counts tests without running them, and runs those with a name only', async () => {
    const texts = [one('throw new Error("it has run")'), 'describe("other", () => { it("is", () => {}); it("was", () => {}); });'];
    assert.deepEqual((({ passed, failed }) => [passed, failed])((await run(texts, { args: ['--dry-run'] })).part), [3, 0]);
    assert.deepEqual((({ passed, failed }) => [passed, failed])((await run(texts, { args: ['--grep', 'other was'] })).part), [1, 0]);
  });
});
