/** The files of a development chain: its whole state, which anvil writes, and a manifest of what the state must contain. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Type, type Static } from '../../engine/records/schema-types.js';
import { Address, Bytes32, ChainId, Position, record } from '../../engine/records/fields.js';
import { explain } from '../../engine/records/explain.js';
import { compileSchema } from '../../engine/records/schema.js';
import { CannotStart } from '../../engine/cannot-start.js';
import { syncDirectory, writeDurably } from '../../service/machine/durable-files.js';

const ContractAddresses = record({
  settlement: Address, conditionalTokens: Address, collateral: Address, marketFactory: Address, oracle: Address, oracleResolver: Address,
  quickResolver: Address, multicall: Address,
});

/** What was deployed, and how to recognise it. */
const Manifest = record({
  version: Type.Literal(2),
  chainId: ChainId,
  contracts: ContractAddresses,
  /** The block of the first deployment. Not the genesis block, which may differ after a restart of anvil. */
  deployment: record({ block: Position, hash: Bytes32 }),
  /** SHA-256 of the code at each address. */
  code: Type.Record(Type.String(), Bytes32),
  /** SHA-256 of the compiled contracts that the program deployed. */
  artifacts: Bytes32,
  /** The contracts' dispute window, in seconds. */
  disputeWindowS: Type.Integer({ minimum: 1 }),
});
export type Manifest = Static<typeof Manifest>;

const isManifest = compileSchema(Manifest);

/** The chain on disk cannot be used. The message says why and what to do. */
export class DevChainUnusable extends CannotStart {
  constructor(directory: string, what: string, remedy = '') {
    super(`the development chain in ${directory} ${what}. ${remedy}To start anew, move the whole data directory `
      + `(DATA_DIR, ${dirname(directory)}) away: the history in it belongs to that chain`, { hopeless: true });
    this.name = 'DevChainUnusable';
  }
}

/** SHA-256 as 0x-hex. */
export function digestOf(...texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${text.length}:`).update(text);
  return `0x${hash.digest('hex')}`;
}

const keptIn = (directory: string) => join(directory, 'kept');
const makingIn = (directory: string) => join(directory, 'making');
const stateIn = (folder: string) => join(folder, 'state.json');
const manifestIn = (folder: string) => join(folder, 'manifest.json');

/** The file in which anvil keeps the state of the chain. */
export function stateFile(directory: string): string {
  return stateIn(keptIn(directory));
}

/** The manifest of the chain that is kept; undefined before the first start. Throws DevChainUnusable when a part is missing or malformed. */
export async function readManifest(directory: string): Promise<Manifest | undefined> {
  if (!(await readdir(directory)).includes('kept')) return undefined;
  const folder = keptIn(directory);
  const names = await readdir(folder);
  const demand = (path: string): void => {
    if (!names.includes(path.slice(folder.length + 1))) throw new DevChainUnusable(directory, `is incomplete: ${path} is missing`, 'Put it back. ');
  };
  demand(manifestIn(folder));
  const text = await readFile(manifestIn(folder), 'utf8');
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch {
    throw new DevChainUnusable(directory, `is damaged: ${manifestIn(folder)} is not JSON`);
  }
  if (!isManifest(manifest)) {
    throw new DevChainUnusable(directory, `was made by another version of the program, or is damaged: ${manifestIn(folder)}: ${explain(isManifest)}`);
  }
  demand(stateIn(folder));
  return manifest;
}

/**
 * Makes a new chain: `make` has anvil write the state to the file that it is given, and returns the manifest. The chain gets its final
 * name, `kept`, only when it is complete: what was left by a start that was killed is removed.
 */
export async function makeNewChain(directory: string, make: (state: string) => Promise<Manifest>): Promise<Manifest> {
  const folder = makingIn(directory);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const manifest = await make(stateIn(folder));
  await writeDurably(manifestIn(folder), `${JSON.stringify(manifest, undefined, 2)}\n`);
  await syncDirectory(folder);
  await rename(folder, keptIn(directory));
  await syncDirectory(directory);
  return manifest;
}
