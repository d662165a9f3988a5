/**
 * Reads a chains file: the chains on which orders settle, with nodes, contracts and keys. The file names where secrets
 * are, but holds none.
 */
import { getAddress } from 'ethers/address';
import { computeAddress } from 'ethers/transaction';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Chain, Contracts } from '../command/chain/chain.js';
import { KEY_FORMAT, privateKeyIn } from '../command/lane/private-key.js';
import { ChainId, Position, record } from '../engine/records/fields.js';
import { ADDRESS, isAddress, isBytes32 } from '../engine/records/hex.js';
import { Type, type Static } from '../engine/records/schema-types.js';
import { faultFinder } from '../engine/records/schema.js';

/** A chain with its nodes and key. */
export interface ChainOfFile {
  readonly chain: Chain;
  /** In order of preference. May hold secrets. */
  readonly rpcUrls: readonly string[];
  /**
   * The key that signs settlement transactions: 0x and 64 hex digits. Absent, as the other keys, in a process that does
   * not sign.
   */
  readonly operatorKey?: string;
  /** The key that signs relayed transactions. */
  readonly relayerKey?: string;
  /** Its address, lower-case; absent: nothing is relayed on this chain. */
  readonly relayer?: string;
  /** The key that creates and resolves quick markets. */
  readonly quickKey?: string;
  /** Its address, lower-case; absent: there are none on this chain. */
  readonly quick?: string;
  /** Time between two requests for new blocks. */
  readonly pollMs: number;
  /** The highest fee of a settlement, in wei per unit of gas; absent: the lane's own limit. */
  readonly maxFeePerGas?: bigint;
  /**
   * Whether the chain makes blocks only when there are transactions; then a chain without new blocks is not reported.
   */
  readonly blocksOnDemand: boolean;
}

/** All faults of a chains file, each with its JSON pointer. The message never shows a secret. */
export class ChainsFileError extends Error {
  constructor(path: string, readonly problems: readonly string[]) {
    super(`the chains file ${path} (CHAINS) is wrong in ${problems.length} place${problems.length === 1 ? '' : 's'}:\n${problems.map((each) => `  ${each}`).join('\n')}`);
    this.name = 'ChainsFileError';
  }
}

const DEFAULT_POLL_MS = 1_000;
const WEI_PER_GWEI = 1e9;

/** Checked by the functions below, whose messages say what to write instead. */
const AddressText = Type.Unknown();
const RpcUrl = Type.Unknown();
const Secret = Type.Unknown();
const TxHash = Type.Unknown();

const FileChain = record({
  chainId: ChainId,
  /** Display name. */
  name: Type.String({ minLength: 1, maxLength: 100 }),
  /** Whether the chain is a test network, whose money has no value. */
  testnet: Type.Boolean(),
  /** Each is a URL, `{ "env": "NAME" }` or `{ "file": "path" }`. In order of preference. */
  rpcUrls: Type.Array(RpcUrl, { minItems: 1, maxItems: 10 }),
  contracts: record({
    settlement: AddressText, conditionalTokens: AddressText, collateral: AddressText, marketFactory: AddressText,
    oracle: AddressText,
    oracleResolver: AddressText, quickResolver: AddressText, multicall: AddressText,
  }),
  /** Number of blocks on top of a block that make the block final. */
  confirmations: Type.Integer({ minimum: 0, maximum: 100_000 }),
  /** Block of the first deployment of the contracts. */
  startBlock: Position,
  /** The name in the signing domain of orders. */
  settlementDomainName: Type.String({ minLength: 1, maxLength: 100 }),
  /** Whether orders are checked against their traders' balances and allowances. */
  exposureCheck: Type.Boolean(),
  /** The smallest size of an order, in units of 1e-6 shares. */
  minOrderSize: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  /** `{ "env": "NAME" }` or `{ "file": "path" }`. */
  operatorKey: Secret,
  /** The same, of a key that nothing else signs with, and its address. Absent: the chain has no relayer. */
  relayerKey: Type.Optional(Secret),
  relayerAddress: Type.Optional(AddressText),
  /** The same, of a third key. Absent: the chain has no quick markets. */
  quickKey: Type.Optional(Secret),
  quickAddress: Type.Optional(AddressText),
  /** Shown to clients: a URL without secrets. */
  publicRpcUrl: Type.Optional(RpcUrl),
  /** Whether the chain makes blocks only when there are transactions. */
  blocksOnDemand: Type.Optional(Type.Boolean()),
  /** Milliseconds between two requests for new blocks. */
  pollMs: Type.Optional(Type.Integer({ minimum: 10, maximum: 3_600_000 })),
  /** Hashes of transactions whose anchors are passed over: `command/indexer/checks/anchors.ts`. */
  passOverAnchors: Type.Optional(Type.Array(TxHash, { maxItems: 10_000 })),
  /** Hashes of transactions whose false fills are passed over: `command/indexer/checks/fills.ts`. */
  passOverFills: Type.Optional(Type.Array(TxHash, { maxItems: 10_000 })),
  /** May be a fraction. The upper limit keeps the amount in wei exact, and rejects an amount that was given in wei. */
  maxFeePerGasGwei: Type.Optional(Type.Number({ minimum: 0.001, maximum: 1_000_000 })),
});
const ChainsFile = record({ chains: Type.Array(FileChain, { minItems: 1, maxItems: 100 }) });
type ChainsFile = Static<typeof ChainsFile>;
type FileChain = Static<typeof FileChain>;

const faultsOf = faultFinder(ChainsFile);

export interface Secrets {
  /** Has the secrets that the file names. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether this process signs. Otherwise the places of the keys are not looked at. */
  readonly signs: boolean;
}

interface Reading extends Secrets {
  /** The folder of the chains file, to which relative paths refer. */
  readonly folder: string;
  /** Adds a fault; `at` is a JSON pointer. */
  readonly fault: (at: string, what: string) => void;
}

const SOURCES = 'write { "env": "NAME" } for an environment variable, or { "file": "path" } for a file';

/**
 * The chains of a file, with URLs and, to sign, keys read from the places that the file names. Throws ChainsFileError
 * with all faults.
 */
export async function readChainsFile(path: string, secrets: Secrets): Promise<readonly ChainOfFile[]> {
  const problems: string[] = [];
  const reading: Reading = { ...secrets, folder: dirname(resolve(path)), fault: (at, what) => { problems.push(`${at || '/'}: ${what}`); } };
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
    // The parser's message is not shown: it quotes the file, which may hold a secret by mistake.
    const position = /position (\d+)/.exec((error as Error).message)?.[1];
    const line = position === undefined ? '' : ` from line ${text.slice(0, Number(position)).split('\n').length} on`;
    throw new ChainsFileError(path, [`it is not JSON${line}`]);
  }
  for (const { at, what } of faultsOf(file)) fault(at, what);
  return file;
}

/** The chains that can be read further, also when the file has other faults. */
function chainsOf(file: unknown): readonly Partial<FileChain>[] {
  const { chains } = (file ?? {}) as Partial<ChainsFile>;
  return Array.isArray(chains) ? chains.filter((each) => typeof each === 'object' && each !== null) : [];
}

/** Reads a chain. The result is valid only if no fault was added. */
async function readChain(at: string, chain: Partial<FileChain>, reading: Reading): Promise<ChainOfFile> {
  const contracts = readContracts(`${at}/contracts`, chain.contracts, reading);
  const rpcUrls: string[] = [];
  for (const [i, source] of (Array.isArray(chain.rpcUrls) ? chain.rpcUrls : []).entries()) {
    rpcUrls.push(await readRpcUrl(`${at}/rpcUrls/${i}`, source, reading));
  }
  const keys = await readKeys(at, chain, reading);
  const relayer = readSender(at, 'relayer', { chain, keys, reading });
  const quick = readSender(at, 'quick', { chain, keys, reading });
  const { chainId, name, testnet, confirmations, startBlock, settlementDomainName, exposureCheck } = chain as FileChain;
  const { pollMs = DEFAULT_POLL_MS, maxFeePerGasGwei, blocksOnDemand = false, minOrderSize } = chain;
  const passOverAnchors = readHashes(`${at}/passOverAnchors`, chain.passOverAnchors, reading);
  const passOverFills = readHashes(`${at}/passOverFills`, chain.passOverFills, reading);
  const publicRpcUrl = readPublicUrl(`${at}/publicRpcUrl`, chain.publicRpcUrl, reading);
  return {
    chain: {
      chainId, name, testnet, confirmations, startBlock, contracts, domainName: settlementDomainName, exposureCheck,
      ...minOrderSize === undefined ? {} : { minOrderSize }, ...publicRpcUrl === undefined ? {} : { publicRpcUrl },
      ...passOverAnchors.length === 0 ? {} : { passOverAnchors },
      ...passOverFills.length === 0 ? {} : { passOverFills },
    },
    rpcUrls, pollMs, blocksOnDemand, ...keys, ...relayer === undefined ? {} : { relayer },
    ...quick === undefined ? {} : { quick },
    ...typeof maxFeePerGasGwei === 'number' ? { maxFeePerGas: BigInt(Math.round(maxFeePerGasGwei * WEI_PER_GWEI)) } : {},
  };
}

const KEYS = ['operatorKey', 'relayerKey', 'quickKey'] as const;
type Keys = Readonly<Partial<Record<typeof KEYS[number], string>>>;

/** The chain's keys that can be read. Each must be another one: a lane uses its key's nonces alone. */
async function readKeys(at: string, chain: Partial<FileChain>, reading: Reading): Promise<Keys> {
  const keys = new Map<typeof KEYS[number], string>();
  for (const name of KEYS) {
    const key = chain[name] === undefined ? '' : await readKey(`${at}/${name}`, chain[name], reading);
    if (key === '') continue;
    const [same] = [...keys].find(([, other]) => other === key) ?? [];
    if (same !== undefined) reading.fault(`${at}/${name}`, `is the same key as ${same}: each needs a key of its own, whose nonces nothing else uses`);
    keys.set(name, key);
  }
  return Object.fromEntries(keys);
}

/**
 * The address of the relayer's or the quick markets' key, lower-case, which processes need that do not have the key.
 * Undefined without such a key.
 */
function readSender(at: string, who: 'relayer' | 'quick', { chain, keys, reading }: { chain: Partial<FileChain>; keys: Keys; reading: Reading }) {
  const [keyName, addressName] = [`${who}Key`, `${who}Address`] as const;
  const [key, text] = [keys[keyName], chain[addressName]];
  const { fault } = reading;
  const own = key === undefined ? undefined : computeAddress(key);
  if (chain[keyName] === undefined) {
    if (text !== undefined) fault(`${at}/${addressName}`, `has no effect without ${keyName}`);
    return undefined;
  }
  if (text === undefined && own !== undefined) return own.toLowerCase();
  if (!isAddress(text)) fault(`${at}/${addressName}`, `expected the address of ${keyName}${own === undefined ? '' : `: ${own}`}`);
  else if (!hasRightChecksum(text)) fault(`${at}/${addressName}`, WRONG_CHECKSUM);
  else if (own !== undefined && own.toLowerCase() !== text.toLowerCase()) fault(`${at}/${addressName}`, `is not the address of ${keyName}, which is ${own}`);
  else return text.toLowerCase();
  return undefined;
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
    if (!hasRightChecksum(text)) fault(`${at}/${name}`, WRONG_CHECKSUM);
    else if (/^0x0+$/.test(address)) fault(`${at}/${name}`, 'is the zero address, where no contract is');
    else if (same !== undefined) fault(`${at}/${name}`, `is the address of ${same} too`);
    contracts.set(name, address);
  }
  return Object.fromEntries(contracts) as unknown as Contracts;
}

/** Transaction hashes, each once, in lower case. */
function readHashes(at: string, given: unknown, { fault }: Reading): string[] {
  const hashes = new Set<string>();
  for (const [i, text] of (Array.isArray(given) ? given as unknown[] : []).entries()) {
    const hash = typeof text === 'string' ? text.toLowerCase() : text;
    if (!isBytes32(hash)) fault(`${at}/${i}`, 'expected the hash of a transaction: 0x and 64 hex digits');
    else if (hashes.has(hash)) fault(`${at}/${i}`, 'is listed twice');
    else hashes.add(hash);
  }
  return [...hashes];
}

const WRONG_CHECKSUM = 'its capital letters are not those of its checksum (EIP-55): a digit may be wrong';

/** Whether an address has no capital letters, or those of its checksum (EIP-55). */
export function hasRightChecksum(address: string): boolean {
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
  else if (typeof source === 'string' && holdsSecret(source)) {
    reading.fault(at, `the URL has a password or what looks like a key, and this file may be copied, shared and committed: ${SOURCES}. Replace a key that was in such a file`);
  }
  return url ?? '';
}

/**
 * Whether a URL has a user, a password, or what providers' keys look like: a long word with digits in the path or the
 * query.
 */
function holdsSecret(url: string): boolean {
  const { username, password, pathname, searchParams } = new URL(url);
  return username !== '' || password !== '' || [...pathname.split('/'), ...searchParams.values()].some((word) => /^(?=.*\d)[\w-]{20,}$/.test(word));
}

const NO_HTTP_URL = 'is not an http or https URL';

/** Whether a text is the URL of a node. */
export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Reads the public URL. Clients see this URL, so a source of secrets is not accepted. */
function readPublicUrl(at: string, url: unknown, { fault }: Reading): string | undefined {
  if (url === undefined) return undefined;
  if (typeof url !== 'string') fault(at, 'write the URL itself: clients see this URL, so it cannot be a secret');
  else if (!isHttpUrl(url)) fault(at, NO_HTTP_URL);
  else if (new URL(url).username !== '' || new URL(url).password !== '') fault(at, 'has a user name or a password, but clients see this URL');
  else return url;
  return undefined;
}

/** A private key; empty if there is a fault, and in a process that does not sign. */
async function readKey(at: string, source: unknown, reading: Reading): Promise<string> {
  if (typeof source === 'string') {
    reading.fault(at, `a key must not be in this file, which may be copied, shared and committed: ${SOURCES}. Replace a key that was in such a file`);
    return '';
  }
  if (!reading.signs) {
    if (placeOf(source) === undefined) reading.fault(at, SOURCES);
    return '';
  }
  const text = await readSource(at, source, reading, SOURCES);
  if (text === undefined) return '';
  const key = privateKeyIn(text);
  if (key === undefined) reading.fault(at, `the text there is not a key: expected ${KEY_FORMAT}, but found ${text.length} characters`);
  return key ?? '';
}

/** The text at the place that a source names; undefined if there is a fault. */
async function readSource(
  at: string, source: unknown, { environment, folder, fault }: Reading, expected: string,
): Promise<string | undefined> {
  const { kind, name } = placeOf(source) ?? {};
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

/** The place that a source names; undefined if it is not a source. */
function placeOf(source: unknown): { readonly kind: 'env' | 'file'; readonly name: string } | undefined {
  const [entry, ...others] = typeof source === 'object' && source !== null ? Object.entries(source) as [string, unknown][] : [];
  const [kind, name] = entry ?? [];
  return (kind === 'env' || kind === 'file') && typeof name === 'string' && others.length === 0 ? { kind, name } : undefined;
}

/**
 * The environment variables in which a chains file says that keys are; none where the file cannot be read or is not a
 * chains file.
 */
export async function keyVariablesOf(path: string): Promise<readonly string[]> {
  const file: unknown = await readFile(path, 'utf8').then((text) => JSON.parse(text) as unknown).catch(() => undefined);
  const places = chainsOf(file).flatMap((chain) => KEYS.map((name) => placeOf(chain[name])));
  return places.flatMap((place) => place?.kind === 'env' ? [place.name] : []);
}

function refuseRepeats(chains: readonly ChainOfFile[], { fault }: Reading): void {
  const ids = chains.map(({ chain }) => chain.chainId);
  for (const [i, id] of ids.entries()) {
    if (id !== undefined && ids.indexOf(id) < i) fault(`/chains/${i}/chainId`, `chain ${id} is already at /chains/${ids.indexOf(id)}`);
  }
}
