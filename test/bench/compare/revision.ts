/** Builds of the service: the one that runs, and those of other revisions, each in a worktree of its own below `.build/`. */
import { execFile } from 'node:child_process';
import { access, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Build {
  /** As it is shown: `here`, or the revision's short hash. */
  readonly name: string;
  /** The folder of its compiled files. */
  readonly dist: string;
}

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const run = promisify(execFile);

/** The working tree, as it was compiled for this benchmark. */
export const HERE: Build = { name: 'here', dist: join(ROOT, 'dist') };

/**
 * Compiles a revision with its own packages and its own compiler; that takes a minute, and is kept for the next time. Throws Error for a name
 * that git does not know, and for a revision that does not compile.
 */
export async function buildRevision(revision: string): Promise<Build> {
  const git = async (...args: string[]) => (await run('git', args, { cwd: ROOT })).stdout.trim();
  const hash = await git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`).catch(() => {
    throw new Error(`git knows no revision ${JSON.stringify(revision)} here; a shallow clone gets the others by git fetch --unshallow`);
  });
  const tree = join(ROOT, '.build', 'revisions', hash);
  const build: Build = { name: hash.slice(0, 7), dist: join(tree, 'dist') };
  const record = join(build.dist, 'built');
  if (await access(record).then(() => true, () => false)) return build;
  await rm(tree, { recursive: true, force: true });
  await git('worktree', 'prune');
  await git('worktree', 'add', '--detach', '--force', tree, hash);
  await addPackages(tree);
  await run(process.execPath, [join(tree, 'node_modules/typescript/lib/tsc.js'), '--project', tree], { cwd: tree });
  await writeFile(record, hash);
  return build;
}

/** The same packages are shared; others are installed. */
async function addPackages(tree: string): Promise<void> {
  const [theirs, ours] = await Promise.all([tree, ROOT].map((root) => readFile(join(root, 'package-lock.json'), 'utf8')));
  if (theirs === ours) await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  else await run('npm', ['ci'], { cwd: tree });
}
