/** tools/bundle.mjs: programs start from few files, which no module is loaded beside a second time. */
import { deepEqual, match, ok } from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const BUNDLE = join(ROOT, 'dist/bundle');

const PRODUCT = ['client/src', 'command', 'contracts-abi', 'engine', 'projections', 'query', 'service', 'stack', 'tools'];

/** The modules that sources name, without their ending: what the pattern finds, from the source's folder. */
function* pathsIn(folders: readonly string[], pattern: RegExp): Generator<{ readonly source: string; readonly path: string }> {
  for (const folder of folders) {
    for (const file of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      const source = join(folder, file);
      for (const [, path] of readFileSync(join(ROOT, source), 'utf8').matchAll(pattern)) yield { source, path: resolve('/', dirname(source), path!).slice(1) };
    }
  }
}

describe('the bundle of the programs', () => {
  let programs: readonly string[];
  before(async () => {
    programs = (await import(pathToFileURL(join(ROOT, 'tools/bundle.mjs')).href) as { PROGRAMS: readonly string[] }).PROGRAMS;
  });

  it('is what a program is after it was compiled', () => {
    for (const program of programs) {
      match(readFileSync(join(ROOT, 'dist', `${program}.js`), 'utf8'), /^import '(\.\.\/)+bundle\/[a-z-]+\.js';\n$/, program);
    }
  });

  it('has every tool but those that tests import', () => {
    const tools = readdirSync(join(ROOT, 'tools')).filter((file) => file.endsWith('.ts')).map((file) => `tools/${file.slice(0, -3)}`);
    deepEqual(tools.filter((tool) => !programs.includes(tool)), ['tools/read-models', 'tools/state-tables']);
  });

  it('has each program that another one starts as a process or a thread', () => {
    const started = [...pathsIn(PRODUCT, /new URL\('(\.[^']+)\.js', import\.meta\.url\)/g)];
    ok(started.length >= 5);
    for (const { source, path } of started) ok(programs.includes(path), `${source} starts ${path}`);
  });

  it('has no program that another module imports: its state would be there twice', () => {
    const imported = [...pathsIn([...PRODUCT, 'test'], /(?:from|import\() ?'(\.[^']+)\.js'/g)];
    ok(imported.length > 5_000);
    for (const { source, path } of imported) ok(!programs.includes(path), `${source} imports the program ${path}`);
  });

  it('names the sources of our own modules, for the traces of errors, and has no text of theirs', () => {
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(BUNDLE, 'service-main.js.map'), 'utf8')) as { sources: string[]; sourcesContent?: unknown };
    deepEqual({ sources: sources.map((source) => resolve(BUNDLE, source)), sourcesContent }, { sources: [join(ROOT, 'service/main.ts')], sourcesContent: undefined });
  });
});
