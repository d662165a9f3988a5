// node tools/run.mjs PROGRAM [argument…]: compiles the sources, bundles the programs and builds the page, where one of
// their sources has changed since the last build, then runs dist/PROGRAM.js in this process. PROGRAM has no ending; a
// folder, as tools/, takes the program's name from the next argument. Without PROGRAM this only compiles.
import { spawnSync } from 'node:child_process';
import console from 'node:console';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { URL, fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const BUNDLED_FROM = join(root, 'dist', 'bundled-from');

/**
 * What is built. `record` says what the last build was made from; without it, there is no complete build. The compiler writes over the programs
 * of the bundle, so that is made anew then.
 */
const PROGRAMS = {
  record: join(root, 'dist', 'built-from'), overwrites: [BUNDLED_FROM], fixed: ['package-lock.json', 'tsconfig.json'], endings: /\.(ts|json)$/,
  folders: () => JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')).include,
  say: 'Compiling: this takes some seconds, the first time only.',
  steps: [['typescript7', 'bin/tsc', '--project', root]],
};
/** The programs that processes and threads start from, compiled by this version of Node for itself. */
const BUNDLE = {
  version: process.version,
  record: BUNDLED_FROM, fixed: ['package-lock.json', 'tsconfig.json', 'tools/bundle.mjs'], endings: /\.(ts|json)$/,
  folders: () => ['client/src', 'command', 'contracts-abi', 'engine', 'projections', 'query', 'service', 'stack', 'tools'],
  say: 'Bundling the programs.',
  steps: [['vite', 'bin/vite.js', 'build', '--logLevel', 'warn', '--config', join(root, 'tools', 'bundle.mjs')]],
};
/** The page has the client in it, and to decide a history again, the pure part of the engine. */
const PAGE = {
  record: join(root, 'dist', 'page-built-from'), fixed: ['package-lock.json'], endings: /\.(tsx?|json|css|html|svg)$/,
  folders: () => ['page', 'client/src', ...['records', 'rules', 'book', 'run'].map((part) => `engine/${part}`)],
  say: 'Building the page.',
  steps: [['typescript7', 'bin/tsc', '--project', join(root, 'page')], ['vite', 'bin/vite.js', 'build', '--logLevel', 'warn', join(root, 'page')]],
};

/** A digest of a build's inputs by path, size and time of change, which takes milliseconds. The packages count by the lock file. */
function inputs({ fixed, endings, folders, version = '' }) {
  const sources = folders().flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)))
    .filter((file) => endings.test(file));
  const digest = createHash('sha256').update(version);
  for (const file of [...fixed, ...sources.sort()]) {
    const { size, mtimeMs } = statSync(join(root, file));
    digest.update(`${file}\n${size} ${mtimeMs}\n`);
  }
  return digest.digest('hex');
}

function lastBuild({ record }) {
  try {
    return readFileSync(record, 'utf8');
  } catch {
    return undefined;
  }
}

/** Ends this process with the compiler's code where the sources do not compile: nothing runs on an old build. */
function build(part) {
  const from = inputs(part);
  const last = lastBuild(part);
  if (last === from) return;
  if (last === undefined) console.error(part.say);
  for (const record of [part.record, ...part.overwrites ?? []]) rmSync(record, { force: true });
  for (const [name, program, ...options] of part.steps) {
    const file = fileURLToPath(new URL(program, import.meta.resolve(`${name}/package.json`)));
    const { status } = spawnSync(process.execPath, [file, ...options], { cwd: root, stdio: ['ignore', 2, 2] });
    if (status !== 0) process.exit(status ?? 1);
  }
  writeFileSync(part.record, from);
}

/** The program's path, and its arguments. */
function chosen([program, name, ...rest]) {
  if (!program.endsWith('/')) return [program, name === undefined ? [] : [name, ...rest]];
  const names = readdirSync(join(root, 'dist', program)).filter((file) => file.endsWith('.js')).map((file) => file.slice(0, -3)).sort();
  if (names.includes(name)) return [`${program}${name}`, rest];
  console.error(`${name === undefined ? 'Which tool?' : `There is no tool ${name}.`} One of: ${names.join(', ')}`);
  process.exit(2);
}

build(PROGRAMS);
if (existsSync(join(root, 'tools', 'bundle.mjs'))) build(BUNDLE);
if (existsSync(join(root, 'page'))) build(PAGE);
const given = process.argv.slice(2);
if (given.length > 0) {
  const [program, rest] = chosen(given);
  const file = join(root, 'dist', `${program}.js`);
  process.argv = [process.execPath, file, ...rest];
  await import(pathToFileURL(file).href);
}
