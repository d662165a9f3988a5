/** tools/bundle.mjs: programs start from few files, which no module is loaded beside a second time. */
import { deepEqual, match, ok } from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const BUNDLE = join(ROOT, 'dist/bundle');

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

  it('has each program that a folder\'s own scripts start', () => {
    const tools = readdirSync(join(ROOT, 'tools')).filter((file) => file.endsWith('.ts')).map((file) => `tools/${file.slice(0, -3)}`);
    // These two make documents, and tests import them.
    deepEqual(tools.filter((tool) => !programs.includes(tool)), ['tools/read-models', 'tools/state-tables']);
  });

  it('has no program that another module imports: its state would be there twice', () => {
    const sources = ['client', 'command', 'contracts-abi', 'engine', 'projections', 'query', 'service', 'stack', 'test', 'tools']
      .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)))
      .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'));
    ok(sources.length > 500);
    for (const source of sources) {
      for (const [, path] of readFileSync(join(ROOT, source), 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)\.js'/g)) {
        const imported = resolve('/', dirname(source), path!).slice(1);
        ok(!programs.includes(imported), `${source} imports the program ${imported}`);
      }
    }
  });

  it('names the sources of our own modules, for the traces of errors, and has no text of theirs', () => {
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(BUNDLE, 'service-main.js.map'), 'utf8')) as { sources: string[]; sourcesContent?: unknown };
    deepEqual({ sources: sources.map((source) => resolve(BUNDLE, source)), sourcesContent }, { sources: [join(ROOT, 'service/main.ts')], sourcesContent: undefined });
  });
});
