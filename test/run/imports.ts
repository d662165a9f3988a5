/** Which test files use a support of the tests, itself or through other modules: read from the build, so that a test need not say it. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TESTS = fileURLToPath(new URL('..', import.meta.url));

/** Those of the files that import the support, in their order. All are paths below test/ that end in `.ts`. */
export async function filesThatUse(support: string, files: readonly string[]): Promise<string[]> {
  const using: string[] = [];
  for (const file of files) if (await leadsTo(builtOf(file), builtOf(support))) using.push(file);
  return using;
}

function builtOf(file: string): string {
  return join(TESTS, file.replace(/\.ts$/, '.js'));
}

async function leadsTo(from: string, to: string): Promise<boolean> {
  const seen = new Set([from]);
  for (const file of seen) {
    if (file === to) return true;
    for (const each of await importsOf(file)) seen.add(each);
  }
  return false;
}

const known = new Map<string, Promise<readonly string[]>>();

function importsOf(file: string): Promise<readonly string[]> {
  let found = known.get(file);
  if (found === undefined) known.set(file, found = readImports(file));
  return found;
}

async function readImports(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return [...text.matchAll(/^(?:import|export)\b[^;]*?from '(\.[^']+)'|^import '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm)]
    .map(([, from, alone, dynamic]) => join(dirname(file), (from ?? alone ?? dynamic)!));
}
