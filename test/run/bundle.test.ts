/** tools/bundle.mjs: programs start from few files, which no module is loaded beside a second time. */
import { deepEqual, match, ok } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { NODE_ARGUMENTS } from '../../service/process/node-arguments.js';

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
      const [, file] = /^import \{ start \} from '\.[./a-z]*\/bundle\/load\.js';\nstart\('([a-z-]+)'\);\n$/.exec(readFileSync(join(ROOT, 'dist', `${program}.js`), 'utf8')) ?? [];
      ok(existsSync(join(BUNDLE, `${file}.cjs`)), program);
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

  it('names the sources of our own modules in the traces of errors, and has no text of theirs', () => {
    // A thread's program has nothing to do in a process of its own.
    const { stderr } = spawnSync(process.execPath, [join(ROOT, 'dist/engine/run/snapshot-worker.js')], { encoding: 'utf8' });
    match(stderr, /TypeError.*\n +at .*\/engine\/run\/snapshot-worker\.ts:\d+:\d+\)?\n/);
    for (const map of readdirSync(BUNDLE).filter((file) => file.endsWith('.map'))) {
      ok(!('sourcesContent' in (JSON.parse(readFileSync(join(BUNDLE, map), 'utf8')) as object)), map);
    }
  });

  it('has been compiled for the flags of the service, and for none', () => {
    const files = readdirSync(BUNDLE).filter((file) => file.endsWith('.cjs'));
    const starting = programs.map((program) => `${program.replaceAll('/', '-')}.cjs`);
    const script = `
      import { load } from ${JSON.stringify(pathToFileURL(join(ROOT, 'dist/tools/bundle/load.js')))};
      const compiled = process.argv.slice(1).filter((file) => load(file).script.cachedDataRejected === false);
      console.log(compiled.length);`;
    const shared = files.filter((file) => !starting.includes(file));
    ok(shared.length > 50 && starting.every((file) => files.includes(file)));
    for (const flags of [[], NODE_ARGUMENTS]) {
      const { stdout, stderr } = spawnSync(process.execPath, [...flags, '--input-type=module', '--eval', script, ...shared], { encoding: 'utf8' });
      deepEqual({ stdout, stderr }, { stdout: `${shared.length}\n`, stderr: '' });
    }
  });

  it('imports nothing by itself: what comes from the cache cannot', () => {
    const importing = readdirSync(BUNDLE).filter((file) => file.endsWith('.cjs')).flatMap((file) => readFileSync(join(BUNDLE, file), 'utf8').split('\n')
      .filter((line) => /(?:^|[\s=(])import\(/.test(line) && !/^\s*(\*|\/[*/])/.test(line) && !line.includes('/**')));
    deepEqual(importing, []);
  });
});
