/** The record of a deployment on disk: what was begun, and every transaction that was signed, before it is sent. */
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DirectoryInUse, lockDirectory } from '../../service/machine/directory-lock.js';
import { replaceDurably } from '../../service/machine/durable-files.js';
import { CannotDeploy } from './terms.js';

/** A signed transaction. The same bytes may be sent any number of times. Amounts are decimal. */
export interface DeployAttempt {
  readonly txHash: string;
  readonly raw: string;
  readonly gasLimit: string;
  readonly maxFeePerGas: string;
  readonly maxPriorityFeePerGas: string;
}

/** What a deployment is. A later run must mean the same. */
export interface DeploymentIdentity {
  readonly chainId: number;
  /** Hash of block 0: two chains may have the same id. */
  readonly genesis: string;
  readonly deployer: string;
  /** The options that the contracts depend on, as texts. */
  readonly terms: Readonly<Record<string, string>>;
}

export interface DeploymentRecord extends DeploymentIdentity {
  readonly version: 1;
  /** The nonce of the first transaction. Each step has its nonce, so that no step can be done twice. */
  readonly firstNonce: number;
  /** Digest of all transactions without nonces and fees: another version of the program may have other contracts. */
  readonly plan: string;
  /** By nonce, the newest attempt last. */
  readonly attempts: Readonly<Record<string, readonly DeployAttempt[]>>;
}

export interface RecordFile {
  read(): DeploymentRecord | undefined;
  /** Resolves when it is on disk. */
  write(record: DeploymentRecord): Promise<void>;
  close(): void;
}

/** Whether a deployment was begun in the directory. */
export function isBegun(directory: string): boolean {
  return existsSync(recordIn(directory));
}

/** Opens the record in a directory, which is made and locked: two runs at once would overwrite each other's attempts. */
export async function openRecord(directory: string): Promise<RecordFile> {
  await mkdir(directory, { recursive: true });
  const unlock = await lockDirectory(directory).catch((error: unknown) => {
    throw error instanceof DirectoryInUse ? new CannotDeploy([`--out: another run of this program uses ${directory}: wait for its end`]) : error;
  });
  const path = recordIn(directory);
  try {
    let record = existsSync(path) ? parse(path, await readFile(path, 'utf8')) : undefined;
    return {
      read: () => record,
      async write(changed) {
        await replaceDurably(path, `${JSON.stringify(changed, undefined, 2)}\n`);
        record = changed;
      },
      close: unlock,
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

function recordIn(directory: string): string {
  return join(directory, 'deployment.json');
}

function parse(path: string, text: string): DeploymentRecord {
  try {
    const record = JSON.parse(text) as DeploymentRecord;
    if (record.version === 1 && typeof record.attempts === 'object' && Number.isSafeInteger(record.firstNonce)) return record;
  } catch {
    // Said below.
  }
  throw new CannotDeploy([`--out: ${path} is not the record of a deployment: give another directory`]);
}

/** Throws CannotDeploy when a record is of another deployment than the one asked for. */
export function refuseAnother(record: DeploymentRecord, asked: DeploymentIdentity & { readonly plan: string }): void {
  const differing = (['chainId', 'genesis', 'deployer'] as const).filter((name) => record[name] !== asked[name]);
  const NAMES = { chainId: 'the chain', genesis: 'block 0 of the chain', deployer: 'the deployer' };
  const problems = differing.map((name) => `${NAMES[name]} was ${record[name]} when the deployment began, and is ${asked[name]} now`);
  for (const option of new Set([...Object.keys(record.terms), ...Object.keys(asked.terms)])) {
    const [before, now] = [record.terms[option], asked.terms[option]];
    if (before !== now) problems.push(`--${option} was ${before ?? 'not given'} when the deployment began, and is ${now ?? 'not given'} now`);
  }
  if (problems.length === 0 && record.plan !== asked.plan) problems.push('the contracts of this program are not those that the deployment began with');
  if (problems.length > 0) throw new CannotDeploy(problems, 'go on with what the deployment began with, or give another --out for another deployment');
}
