// node tools/run.mjs PROGRAM [argument…]: compiles the sources if one of them has changed since the last build, then runs
// dist/PROGRAM.js in this process. PROGRAM has no ending; a folder, as tools/, takes the program's name from the
// next argument. Without PROGRAM this only compiles.
import { spawnSync } from 'node:child_process';
import console from 'node:console';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { URL, fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** What the last build was made from; without it, there is no complete build. */
const RECORD = join(root, 'dist', 'built-from');

/** A digest of the compiler's inputs by path, size and time of change, which takes milliseconds. The packages' types count by the lock file. */
function inputs() {
  const { include } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));
  const sources = include.flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)))
    .filter((file) => file.endsWith('.ts') || file.endsWith('.json'));
  const digest = createHash('sha256');
  for (const file of ['package-lock.json', 'tsconfig.json', ...sources.sort()]) {
    const { size, mtimeMs } = statSync(join(root, file));
    digest.update(`${file}\n${size} ${mtimeMs}\n`);
  }
  return digest.digest('hex');
}

function lastBuild() {
  try {
    return readFileSync(RECORD, 'utf8');
  } catch {
    return undefined;
  }
}

/** Ends this process with the compiler's code where the sources do not compile: nothing runs on an old build. */
function build() {
  const from = inputs();
  const last = lastBuild();
  if (last === from) return;
  if (last === undefined) console.error('Compiling: this takes some seconds, the first time only.');
  rmSync(RECORD, { force: true });
  const compiler = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript7/package.json')));
  const { status } = spawnSync(process.execPath, [compiler, '--project', root], { cwd: root, stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(RECORD, from);
}

/** The program's path, and its arguments. */
function chosen([program, name, ...rest]) {
  if (!program.endsWith('/')) return [program, name === undefined ? [] : [name, ...rest]];
  const names = readdirSync(join(root, 'dist', program)).filter((file) => file.endsWith('.js')).map((file) => file.slice(0, -3)).sort();
  if (names.includes(name)) return [`${program}${name}`, rest];
  console.error(`${name === undefined ? 'Which tool?' : `There is no tool ${name}.`} One of: ${names.join(', ')}`);
  process.exit(2);
}

build();
const given = process.argv.slice(2);
if (given.length > 0) {
  const [program, rest] = chosen(given);
  const file = join(root, 'dist', `${program}.js`);
  process.argv = [process.execPath, file, ...rest];
  await import(pathToFileURL(file).href);
}
