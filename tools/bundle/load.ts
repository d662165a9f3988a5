/**
 * How a program of the bundle starts: its files are scripts, which V8 takes from what it has compiled when they were bundled. Node's own
 * loader compiles a file anew in each process, which took half of the processor time of a start (Node 22 has `module.enableCompileCache`).
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { Script } from 'node:vm';
import { nameSourcesInTraces } from './traces.js';

/** A file of the bundle that has run, or is running. */
export interface Loaded {
  readonly script: Script;
  readonly module: { readonly exports: unknown };
}

const FOLDER = fileURLToPath(new URL('../../bundle/', import.meta.url));

/** What V8 has compiled of a file. The tag stands for its version, its flags and the processor: another one reads other files, or none. */
export const cacheOf = (file: string): string => `${FOLDER}${file}.${cachedDataVersionTag().toString(16)}.cache`;

const requirePackage = createRequire(FOLDER);
const importPackage = (name: string): Promise<unknown> => import(name);
const loaded = new Map<string, Loaded>();

/** Runs a program's file. Errors name the sources from now on. */
export function start(program: string): void {
  nameSourcesInTraces(FOLDER);
  load(`${program}.cjs`);
}

/** Runs a file of the bundle, `name` within its folder, unless it has run. Throws what the file throws. */
export function load(name: string): Loaded {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const path = `${FOLDER}${name}`;
  const text = readFileSync(path, 'utf8').replace(/^#!.*/, '');
  const script = new Script(`(function (exports, require, module, __filename, __dirname, importPackage) {${text}\n})`, {
    filename: path, cachedData: compiledBefore(name),
  });
  const module = { exports: {} };
  const file = { script, module };
  loaded.set(name, file);
  const run = script.runInThisContext() as (...scope: unknown[]) => void;
  run(module.exports, requireFrom, module, path, FOLDER, importPackage);
  return file;
}

function requireFrom(name: string): unknown {
  return name.startsWith('./') ? load(name.slice(2)).module.exports : requirePackage(name);
}

/** V8 compiles where it does not fit, but compares no more than the text's length: text and cache are made together, in an empty folder. */
function compiledBefore(file: string): Buffer | undefined {
  try {
    return readFileSync(cacheOf(file));
  } catch {
    return undefined;
  }
}
