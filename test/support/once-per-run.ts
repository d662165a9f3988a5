/** A file that is made once in a run of the tests, by whichever of its processes needs the file first. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made = new Map<string, Promise<string>>();
let folder = process.env['TEST_RUN_DIR'];

/** The path of the file. Two processes that need it at the same moment both make it, and the second one's is used. */
export function oncePerRun(name: string, make: (path: string) => Promise<void>): Promise<string> {
  let path = made.get(name);
  if (path === undefined) made.set(name, path = madeIn(folder ??= ownFolder(), name, make));
  return path;
}

async function madeIn(directory: string, name: string, make: (path: string) => Promise<void>): Promise<string> {
  const path = join(directory, name);
  if (existsSync(path)) return path;
  const partial = `${path}.${process.pid}`;
  await make(partial);
  await rename(partial, path);
  return path;
}

/** For a process that `npm test` has not started. */
function ownFolder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'prediction-exchange-run-'));
  process.once('exit', () => { rmSync(directory, { recursive: true, force: true }); });
  return directory;
}
