/**
 * One mocha process of a run: asks its parent for test files, runs them, tells what comes of them, and asks for more until there are none.
 * `node dist/test/run/batch.js [--grep TEXT] [--dry-run]`; a file is a path below test/, or an absolute one.
 */
import { once } from 'node:events';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import Mocha from 'mocha';
import type { Message, Order } from './messages.js';
import { withSources } from './traces.js';

const FOLDER = fileURLToPath(new URL('..', import.meta.url));

const { values: { grep, 'dry-run': dryRun } } = parseArgs({ options: { 'grep': { type: 'string' }, 'dry-run': { type: 'boolean', default: false } } });

/** Tells what happens, file by file: a file's suites follow each other. */
class Teller {
  /** Suites of the file that have not ended. */
  #open = 0;
  #file = '';
  #begunAt = Date.now();
  #titles: string[] = [];
  #failed = 0;

  constructor(runner: Mocha.Runner) {
    const suitesOf = new Map<string, number>();
    for (const suite of runner.suite.suites) suitesOf.set(fileOf(suite), (suitesOf.get(fileOf(suite)) ?? 0) + 1);
    runner.on('suite', (suite) => {
      if (suite.parent?.root !== true || this.#open > 0) return;
      this.#begin(fileOf(suite), suitesOf.get(fileOf(suite))!);
    });
    runner.on('suite end', (suite) => { if (suite.parent?.root === true && --this.#open === 0) this.#end(); });
    runner.on('pass', (test) => { this.#titles.push(test.fullTitle()); });
    runner.on('fail', (test, error) => {
      this.#failed++;
      tell({ type: 'failed', file: this.#file, title: test.fullTitle(), text: textOf(error) });
    });
    runner.on('end', () => { if (this.#failed > 0 || this.#titles.length > 0) this.#end(); });
  }

  #begin(file: string, suites: number): void {
    // What a root hook has failed with before.
    if (this.#failed > 0) this.#end();
    this.#open = suites;
    this.#file = file;
    this.#begunAt = Date.now();
    tell({ type: 'file', file });
  }

  #end(): void {
    tell({ type: 'ended', file: this.#file, ms: Date.now() - this.#begunAt, passed: this.#titles.length, failed: this.#failed, titles: this.#titles });
    this.#file = '';
    this.#titles = [];
    this.#failed = 0;
  }
}

function fileOf({ file = '' }: Mocha.Suite): string {
  return file.startsWith(FOLDER) ? file.slice(FOLDER.length).replace(/\.js$/, '.ts') : file;
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { stack = '', message } = error;
  const text = withSources(stack.includes(message) ? stack : `${message}\n${stack}`);
  return error.cause === undefined ? text : `${text}\ncaused by ${textOf(error.cause)}`;
}

function tell(message: Message): void {
  // Written at once: this process may end next.
  process.send!(message);
}

/** Resolves with the parent's next files. */
async function next(): Promise<Order> {
  const answer = once(process, 'message');
  tell({ type: 'next' });
  const [files] = await answer as [Order];
  return files;
}

async function run(files: Order): Promise<void> {
  const mocha = new Mocha({
    timeout: 180_000, forbidOnly: true, forbidPending: true, dryRun, reporter: Teller as unknown as Mocha.ReporterConstructor,
    ...grep === undefined ? {} : { grep },
  });
  for (const file of files) mocha.addFile(resolve(FOLDER, file.replace(/\.ts$/, '.js')));
  try {
    await mocha.loadFilesAsync();
  } catch (error) {
    tell({ type: 'failed', file: files.length === 1 ? files[0]! : '', title: `loading ${files.join(', ')}`, text: textOf(error) });
    return;
  }
  await new Promise<void>((done) => { mocha.run(() => { done(); }); });
  // Else it goes on to take the process's uncaught exceptions.
  mocha.dispose();
}

// Most code of tests runs a few times: what V8 compiles after less work is not worth it. From Node 22 on it has a quick compiler for that.
if (process.version.startsWith('v20.')) setFlagsFromString('--interrupt-budget=1000000');
for (let files = await next(); files.length > 0; files = await next()) await run(files);
tell({ type: 'done' });
// What is still open now keeps the process alive, which the parent notices.
process.disconnect();
