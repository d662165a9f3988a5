/** Reads a chains file: the chains on which orders settle, their nodes, contracts and keys. Secrets are named in it, never written. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { computeAddress, getAddress } from 'ethers';
import Type from 'typebox';
import type { Chain, Contracts } from '../../command/chain/chain.js';
import { ChainId, Position, record } from '../../engine/records/fields.js';
import { ADDRESS, isAddress, isBytes32 } from '../../engine/records/hex.js';
import { faultFinder } from '../../engine/records/schema.js';

/** A chain with what it takes to talk to it. */
export interface ChainOfFile {
  readonly chain: Chain;
  /** In order of preference. May hold secrets. */
  readonly rpcUrls: readonly string[];
  /** 0x and 64 hex digits: the key that settles. */
  readonly operatorKey: string;
  /** The key's address, lower-case. */
  readonly operator: string;
  /** How often its nodes are asked for what is new. */
  readonly pollMs: number;
  /** Wei for a unit of gas that no settlement exceeds; absent where the file leaves it to the lane. */
  readonly maxFeePerGas?: bigint;
  /** Whether the chain makes blocks only when there are transactions: a chain without new blocks is then no trouble. */
  readonly blocksOnDemand: boolean;
}

/** Everything that is wrong with a chains file, each with its JSON pointer. Never shows a secret. */
export class ChainsFileError extends Error {
  constructor(path: string, readonly problems: readonly string[]) {
    super(`The chains file ${path} is wrong in ${problems.length} place${problems.length === 1 ? '' : 's'}:\n${problems.map((each) => `  ${each}`).join('\n')}`);
    this.name = 'ChainsFileError';
  }
}

const DEFAULT_POLL_MS = 1_000;
const WEI_PER_GWEI = 1e9;

/** Checked below: a general schema's faults would not say what to write instead. */
const AddressText = Type.Unknown();
const RpcUrl = Type.Unknown();
const Secret = Type.Unknown();

const FileChain = record({
  chainId: ChainId,
  /** For people. */
  name: Type.String({ minLength: 1, maxLength: 100 }),
  /** Whether its money is play money. */
  testnet: Type.Boolean(),
  /** Each a URL, `{ "env": "NAME" }` or `{ "file": "path" }`; the first that answers is asked. */
  rpcUrls: Type.Array(RpcUrl, { minItems: 1, maxItems: 10 }),
  contracts: record({
    settlement: AddressText, conditionalTokens: AddressText, collateral: AddressText, marketFactory: AddressText, oracle: AddressText,
    oracleResolver: AddressText, quickResolver: AddressText, multicall: AddressText,
  }),
  /** Blocks on top of a block that make it final. */
  confirmations: Type.Integer({ minimum: 0, maximum: 100_000 }),
  /** Where the contracts begin. */
  startBlock: Position,
  /** The name in the signing domain of orders. */
  settlementDomainName: Type.String({ minLength: 1, maxLength: 100 }),
  /** Whether orders are checked against their traders' balances and allowances. */
  exposureCheck: Type.Boolean(),
  /** `{ "env": "NAME" }` or `{ "file": "path" }`. */
  operatorKey: Secret,
  /** What clients are told: a URL without secrets. */
  publicRpcUrl: Type.Optional(RpcUrl),
  /** Whether a chain without new blocks is no trouble. */
  blocksOnDemand: Type.Optional(Type.Boolean()),
  /** Between two looks for new blocks. */
  pollMs: Type.Optional(Type.Integer({ minimum: 10, maximum: 3_600_000 })),
  /** Parts of a gwei are fine. The upper limit keeps the wei exact, and a wei that was written for a gwei out. */
  maxFeePerGasGwei: Type.Optional(Type.Number({ minimum: 0.001, maximum: 1_000_000 })),
});
const ChainsFile = record({ chains: Type.Array(FileChain, { minItems: 1, maxItems: 100 }) });
type ChainsFile = Type.Static<typeof ChainsFile>;
type FileChain = Type.Static<typeof FileChain>;

const faultsOf = faultFinder(ChainsFile);

interface Reading {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where relative paths begin: the chains file's own folder. */
  readonly folder: string;
  /** Adds a fault; `at` is a JSON pointer. */
  readonly fault: (at: string, what: string) => void;
}

const SOURCES = 'write { "env": "NAME" } for an environment variable, or { "file": "path" } for a file';

/** The chains of a file, keys and URLs fetched from where it names them. Throws ChainsFileError with every fault at once. */
export async function readChainsFile(path: string, environment: Reading['environment']): Promise<readonly ChainOfFile[]> {
  const problems: string[] = [];
  const reading: Reading = { environment, folder: dirname(resolve(path)), fault: (at, what) => { problems.push(`${at || '/'}: ${what}`); } };
  const file = await parse(path, reading);
  const chains: ChainOfFile[] = [];
  for (const [i, chain] of chainsOf(file).entries()) chains.push(await readChain(`/chains/${i}`, chain, reading));
  refuseRepeats(chains, reading);
  if (problems.length > 0) throw new ChainsFileError(path, problems);
  return chains;
}

async function parse(path: string, { fault }: Reading): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new ChainsFileError(path, [`it cannot be read (${(error as NodeJS.ErrnoException).code})`]);
  }
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    // The parser's message quotes the file, which may hold what should not be in it.
    const position = /position (\d+)/.exec((error as Error).message)?.[1];
    const line = position === undefined ? '' : ` from line ${text.slice(0, Number(position)).split('\n').length} on`;
    throw new ChainsFileError(path, [`it is not JSON${line}`]);
  }
  for (const { at, what } of faultsOf(file)) fault(at, what);
  return file;
}

/** What there is to read further, whatever else is wrong. */
function chainsOf(file: unknown): readonly Partial<FileChain>[] {
  const { chains } = (file ?? {}) as Partial<ChainsFile>;
  return Array.isArray(chains) ? chains.filter((each) => typeof each === 'object' && each !== null) : [];
}

/** The result is good only when no fault has been added. */
async function readChain(at: string, chain: Partial<FileChain>, reading: Reading): Promise<ChainOfFile> {
  const contracts = readContracts(`${at}/contracts`, chain.contracts, reading);
  const rpcUrls: string[] = [];
  for (const [i, source] of (Array.isArray(chain.rpcUrls) ? chain.rpcUrls : []).entries()) {
    rpcUrls.push(await readRpcUrl(`${at}/rpcUrls/${i}`, source, reading));
  }
  const operatorKey = chain.operatorKey === undefined ? '' : await readKey(`${at}/operatorKey`, chain.operatorKey, reading);
  const { chainId, name, testnet, confirmations, startBlock, settlementDomainName, exposureCheck } = chain as FileChain;
  const { pollMs = DEFAULT_POLL_MS, maxFeePerGasGwei, blocksOnDemand = false } = chain;
  const publicRpcUrl = readPublicUrl(`${at}/publicRpcUrl`, chain.publicRpcUrl, reading);
  return {
    chain: {
      chainId, name, testnet, confirmations, startBlock, contracts, domainName: settlementDomainName, exposureCheck,
      ...publicRpcUrl === undefined ? {} : { publicRpcUrl },
    },
    rpcUrls, operatorKey, pollMs, blocksOnDemand, operator: operatorKey === '' ? '' : computeAddress(operatorKey).toLowerCase(),
    ...typeof maxFeePerGasGwei === 'number' ? { maxFeePerGas: BigInt(Math.round(maxFeePerGasGwei * WEI_PER_GWEI)) } : {},
  };
}

function readContracts(at: string, given: FileChain['contracts'] | undefined, { fault }: Reading): Contracts {
  const contracts = new Map<string, string>();
  for (const [name, text] of Object.entries(given ?? {})) {
    if (!isAddress(text)) {
      fault(`${at}/${name}`, `expected an address: ${ADDRESS.meaning}`);
      continue;
    }
    const address = text.toLowerCase();
    const same = [...contracts].find(([, other]) => other === address)?.[0];
    if (!hasRightChecksum(text)) fault(`${at}/${name}`, 'its capital letters are not those of its checksum (EIP-55): a digit may be wrong');
    else if (/^0x0+$/.test(address)) fault(`${at}/${name}`, 'is the zero address, where no contract is');
    else if (same !== undefined) fault(`${at}/${name}`, `is the address of ${same} too`);
    contracts.set(name, address);
  }
  return Object.fromEntries(contracts) as unknown as Contracts;
}

function hasRightChecksum(address: string): boolean {
  try {
    getAddress(address);
    return true;
  } catch {
    return false;
  }
}

async function readRpcUrl(at: string, source: unknown, reading: Reading): Promise<string> {
  const url = typeof source === 'string' ? source : await readSource(at, source, reading, `${SOURCES}, or the URL itself if it holds no secret`);
  if (url !== undefined && !isHttpUrl(url)) reading.fault(at, NO_HTTP_URL);
  return url ?? '';
}

const NO_HTTP_URL = 'is not an http or https URL';

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Everybody is told this URL, so it is never taken from where secrets are. */
function readPublicUrl(at: string, url: unknown, { fault }: Reading): string | undefined {
  if (url === undefined) return undefined;
  if (typeof url !== 'string') fault(at, 'write the URL itself: clients are told it, so it holds no secret');
  else if (!isHttpUrl(url)) fault(at, NO_HTTP_URL);
  else if (new URL(url).username !== '' || new URL(url).password !== '') fault(at, 'has a user name or a password, and clients are told it');
  else return url;
  return undefined;
}

/** A private key; empty when there is a fault. */
async function readKey(at: string, source: unknown, reading: Reading): Promise<string> {
  if (typeof source === 'string') {
    reading.fault(at, `a key does not belong into this file, which is copied, shared and committed: ${SOURCES}. A key that has been in such a file should be replaced`);
    return '';
  }
  const text = await readSource(at, source, reading, SOURCES);
  if (text === undefined) return '';
  const key = `0x${text.replace(/^0x/, '').toLowerCase()}`;
  if (isBytes32(key) && isKey(key)) return key;
  reading.fault(at, `the key there is none: expected 64 hex digits, with or without 0x, and found ${text.length} characters`);
  return '';
}

/** Zero and numbers from the curve's order on are no keys. */
function isKey(key: string): boolean {
  try {
    computeAddress(key);
    return true;
  } catch {
    return false;
  }
}

/** The text that a source names; undefined when there is a fault. */
async function readSource(at: string, source: unknown, { environment, folder, fault }: Reading, expected: string): Promise<string | undefined> {
  const entries = typeof source === 'object' && source !== null ? Object.entries(source) as [string, unknown][] : [];
  const [entry] = entries;
  const [kind, name] = entries.length === 1 && typeof entry?.[1] === 'string' ? entry as [string, string] : [];
  let text: string | undefined;
  if (kind === 'env' && name !== undefined) {
    text = environment[name]?.trim();
    if (!text) fault(at, `the environment variable ${name} is not set`);
  } else if (kind === 'file' && name !== undefined) {
    const path = resolve(folder, name);
    try {
      text = (await readFile(path, 'utf8')).trim();
      if (text === '') fault(at, `the file ${path} is empty`);
    } catch (error) {
      fault(at, `the file ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  } else fault(at, expected);
  return text === '' ? undefined : text;
}

function refuseRepeats(chains: readonly ChainOfFile[], { fault }: Reading): void {
  const ids = chains.map(({ chain }) => chain.chainId);
  for (const [i, id] of ids.entries()) {
    if (id !== undefined && ids.indexOf(id) < i) fault(`/chains/${i}/chainId`, `chain ${id} is there already, as /chains/${ids.indexOf(id)}`);
  }
}
