/** Finds the account that runs the embedded Postgres: Postgres refuses to run as root, so root uses another account. */
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The account that runs Postgres. Empty for an ordinary user: Postgres then runs as the same user. */
export interface Account {
  readonly ids?: { readonly uid: number; readonly gid: number };
  /** Set when `setpriv` (util-linux) gives the account Linux' capability to search directories that it cannot enter otherwise. */
  readonly searchesAll?: true;
}

/** A command as `spawn` takes it. */
export interface AccountCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly ids: NonNullable<Account['ids']> | Readonly<Record<never, never>>;
}

/** The command that runs a program as the account. */
export function commandAs({ ids, searchesAll }: Account, program: string, args: readonly string[]): AccountCommand {
  if (ids === undefined) return { program, args, ids: {} };
  if (searchesAll === undefined) return { program, args, ids };
  const drop = [`--reuid=${ids.uid}`, `--regid=${ids.gid}`, '--clear-groups', '--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'];
  return { program: 'setpriv', args: [...drop, '--', program, ...args], ids: {} };
}

/**
 * The account for the cluster at this path: its owner if it exists, else `postgres`, else `nobody`, which every system has, so that no
 * account needs to be created. Throws when the cluster belongs to another user.
 */
export async function postgresAccount(cluster: string): Promise<Account> {
  const owner = await stat(cluster).catch(() => undefined);
  const self = process.getuid?.();
  if (self !== 0) {
    if (owner !== undefined && owner.uid !== self) {
      throw new Error(`${cluster} belongs to user ${owner.uid}, this process runs as ${self}: run it as that user or as root, or move the directory away`);
    }
    return {};
  }
  if (owner !== undefined && owner.uid !== 0) return { ids: { uid: owner.uid, gid: owner.gid } };
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all([numberOf('-u', name), numberOf('-g', name)]);
      return { ids: { uid, gid } };
    } catch {
      // No such account: the next one.
    }
  }
  throw new Error('Postgres refuses to run as root, and this machine has neither an account postgres nor an account nobody: run as an ordinary user');
}

async function numberOf(flag: '-u' | '-g', name: string): Promise<number> {
  return Number((await run('id', [flag, name])).stdout);
}

/**
 * The account, able to enter the directory. Other accounts cannot enter root's home; if the directory is there, the account gets the
 * capability to search all directories (and to read, but not write, other users' files). Throws an error that says what to do when the
 * capability cannot be given.
 */
export async function ableToEnter(account: Account, directory: string): Promise<Account> {
  const { ids } = account;
  if (ids === undefined) return account;
  const searching: Account = { ...account, searchesAll: true };
  for (const candidate of account.searchesAll === true ? [account] : [account, searching]) {
    if (await canEnter(candidate, directory)) return candidate;
  }
  const closed = await closedDirectory(ids, directory);
  throw new Error(`Postgres refuses to run as root, and user ${ids.uid}, which it runs as instead, cannot enter ${closed}. `
    + `Either run as an ordinary user, or move the project (or its data directory) to a folder open to all such as /srv, or open that one: chmod o+x ${closed}`);
}

export async function canEnter(account: Account, directory: string): Promise<boolean> {
  const { program, args, ids } = commandAs(account, '/bin/sh', ['-c', 'cd "$1"', 'sh', directory]);
  return run(program, args, { ...ids, cwd: '/' }).then(() => true, () => false);
}

/** The topmost directory of the path that the account cannot enter, by its mode. */
async function closedDirectory(account: { readonly uid: number; readonly gid: number }, directory: string): Promise<string> {
  let closed = directory;
  for (let path = directory; ; path = dirname(path)) {
    const { mode, uid, gid } = await stat(path);
    const enter = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & enter) === 0) closed = path;
    if (path === dirname(path)) return closed;
  }
}
