/**
 * Runs the development chain: a real EVM chain with the project's contracts, created at the first start, kept over restarts and over
 * kill -9 of the service.
 *
 * anvil can write its state file itself, but it writes in place, every few seconds whether or not anything happened, so a kill may leave
 * half a file. Here the service requests the state when there are new blocks, and replaces the file as a whole. When the service is killed,
 * its guard stops anvil (guarded-process.ts), and blocks that were not on disk are gone: the exchange has concluded nothing from them. When
 * the guard was killed too, the next start requests anvil's state, then stops it.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Chain } from '../../command/chain/chain.js';
import { startAnvil, stopOrphan, type Anvil } from './anvil.js';
import { dumpState, keepChain, latestBlock, type ChainKeeper, type KeptStatus } from './chain-keeper.js';
import { SETTLEMENT_DOMAIN_NAME } from '../../tools/deploy/plan.js';
import { artifactsDigest, makeDevContracts, creatorWallet, operatorWallet, quickWallet, relayerWallet } from './dev-contracts.js';
import {
  DevChainUnusable, digestOf, keepNewChain, readManifest, removeHalfMade, replaceState, unpackState, type Manifest,
} from './dev-chain-state.js';
import { lockDirectory } from '../../service/machine/directory-lock.js';
import { serveHeldChain, type HeldChain } from './held-chain.js';
import { nodeRequest } from './node-request.js';
import { processIdentity } from '../process-identity.js';

export interface DevChain {
  readonly chain: Chain;
  /** The key that signs settlement transactions: 0x and 64 hex digits. */
  readonly operatorKey: string;
  /** The key that signs relayed transactions, and its address in lower case. */
  readonly relayerKey: string;
  readonly relayer: string;
  /** The key that creates and resolves quick markets, and its address in lower case. */
  readonly quickKey: string;
  readonly quick: string;
  /** The key that creates markets: a separate key, so that it does not use nonces for which settlements have been signed. */
  readonly creatorKey: string;
  /** URL of the node's own JSON-RPC, for wallets. */
  readonly rpcUrl: string;
  /** URL of JSON-RPC for the exchange's processes: its latest block is the last block that survives a kill of all processes at once. */
  readonly heldUrl: string;
  /** Process id of anvil. */
  readonly pid: number;
  /** Writes the state now. */
  keep(): Promise<void>;
  /** How far the disk is behind the chain, on the clock of `performance.now()`. */
  kept(): KeptStatus;
  /** Resolves with how the chain ended when it ends by itself; never after stop(). */
  readonly ended: Anvil['ended'];
  /** Writes the state and stops the chain. Can be called again. */
  stop(): Promise<void>;
}

export interface DevChainOptions {
  /** Directory of state, manifest and lock; created when missing. One process at a time may use it. */
  readonly directory: string;
  /** 0: any free port. */
  readonly port: number;
  readonly chainId: number;
  readonly name: string;
  readonly exposureCheck: boolean;
  /** Seconds in which a proposed resolution can be disputed; the chain is made with it. */
  readonly disputeWindowS: number;
  /** Receives the lines of anvil, and messages about the state. */
  readonly log: (line: string) => void;
  /** Least time between two writes of the state, and time between two checks for new blocks. */
  readonly keepEveryMs?: number;
}

/**
 * Number of latest blocks whose states can be requested. Each takes a copy of all accounts in memory. anvil's default (500, then files in
 * the home directory) takes ten times the memory.
 */
const STATES_KEPT = 128;

/**
 * Starts the chain. Resolves when it answers and is verified to be the kept chain. Throws DirectoryInUse while another process has the
 * directory, and DevChainUnusable when the kept chain is damaged, is another chain, or has contracts of another version.
 */
export async function startDevChain(options: DevChainOptions): Promise<DevChain> {
  await mkdir(options.directory, { recursive: true });
  const directory = await realpath(options.directory);
  const unlock = await lockDirectory(directory);
  let anvil: Anvil | undefined;
  let keeper: ChainKeeper | undefined;
  try {
    await stopKilledServices(directory, options.log);
    await removeHalfMade(directory);
    const kept = await readManifest(directory);
    if (kept !== undefined) refuseOutdated(directory, kept, options);
    const running = anvil = await launch(directory, options, kept !== undefined);
    const manifest = kept ?? await makeChain(directory, anvil, options);
    if (kept !== undefined) await refuseForeign(directory, kept, anvil.url);
    keeper = keepChain({
      url: anvil.url, kept: await latestBlock(anvil.url), write: (state) => replaceState(directory, state), log: options.log,
      keepEveryMs: options.keepEveryMs,
    });
    const held = await serveHeldChain({ nodeUrl: anvil.url, keeper });
    return devChainOf({ manifest, options, directory, anvil: running, keeper, held, unlock });
  } catch (error) {
    await keeper?.stop();
    await anvil?.stop();
    unlock();
    throw error;
  }
}

interface Running {
  readonly manifest: Manifest;
  readonly options: DevChainOptions;
  readonly directory: string;
  readonly anvil: Anvil;
  readonly keeper: ChainKeeper;
  readonly held: HeldChain;
  readonly unlock: () => void;
}

function devChainOf({ manifest, options, directory, anvil, keeper, held, unlock }: Running): DevChain {
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    try {
      await held.close();
      await keeper.stop();
      await anvil.stop();
      await forget(directory);
    } finally {
      unlock();
    }
  };
  return {
    chain: chainOf(manifest, options), operatorKey: operatorWallet().privateKey, creatorKey: creatorWallet().privateKey,
    relayerKey: relayerWallet().privateKey, relayer: relayerWallet().address.toLowerCase(),
    quickKey: quickWallet().privateKey, quick: quickWallet().address.toLowerCase(),
    rpcUrl: anvil.url, heldUrl: held.url, pid: anvil.pid, ended: anvil.ended, keep: () => keeper.keep(), kept: () => keeper.status(),
    stop: () => stopped ??= stop(),
  };
}

function chainOf({ chainId, contracts, deployment }: Manifest, { name, exposureCheck }: DevChainOptions): Chain {
  // This chain has no reorganisations, so every block is final at once.
  const domainName = SETTLEMENT_DOMAIN_NAME;
  return { chainId, name, testnet: true, confirmations: 0, startBlock: deployment.block, contracts, domainName, exposureCheck };
}

async function launch(directory: string, { chainId, port, log }: DevChainOptions, loads: boolean): Promise<Anvil> {
  const args = ['--prune-history', String(STATES_KEPT)];
  const state = loads ? await unpackState(directory) : undefined;
  if (state !== undefined) args.push('--load-state', state);
  let process = '';
  try {
    const anvil = await startAnvil({ chainId, port, args, log, spawned: (pid) => {
      process = processIdentity(pid) ?? '';
      note(directory, { process });
    } });
    note(directory, { process, url: anvil.url });
    return anvil;
  } catch (cause) {
    const { message } = cause as Error;
    if (message.includes('Address already in use')) {
      throw new Error(`port ${port} of the development chain is in use: set CHAIN_PORT to another port, or to 0 for any free port`, { cause });
    }
    if (message.includes('--load-state')) throw new DevChainUnusable(directory, `is damaged: anvil cannot load its state (${message})`);
    throw cause;
  } finally {
    if (state !== undefined) await rm(state, { force: true });
  }
}

/** Deploys the contracts on a fresh chain and keeps the chain. A crash on the way leaves nothing that a later start would use. */
async function makeChain(directory: string, { url }: Anvil, { chainId, disputeWindowS }: DevChainOptions): Promise<Manifest> {
  const { contracts, deploymentBlock } = await makeDevContracts(url, { chainId, disputeWindowS });
  const { hash } = await nodeRequest<{ hash: string }>(url, 'eth_getBlockByNumber', [`0x${deploymentBlock.toString(16)}`, false]);
  const manifest: Manifest = {
    version: 1, chainId, contracts, deployment: { block: deploymentBlock, hash }, code: await codeAt(url, contracts), artifacts: artifactsDigest(),
    disputeWindowS,
  };
  await keepNewChain(directory, { state: await dumpState(url), manifest });
  return manifest;
}

async function codeAt(url: string, contracts: Manifest['contracts']): Promise<Record<string, string>> {
  const digests = Object.entries(contracts).map(async ([name, address]) => [name, digestOf(await nodeRequest(url, 'eth_getCode', [address, 'latest']))]);
  return Object.fromEntries(await Promise.all(digests)) as Record<string, string>;
}

function refuseOutdated(directory: string, { chainId, artifacts, disputeWindowS }: Manifest, wanted: DevChainOptions): void {
  if (chainId !== wanted.chainId) throw new DevChainUnusable(directory, `has id ${chainId}, not ${wanted.chainId}`, `Set CHAIN_ID back to ${chainId}. `);
  if (artifacts !== artifactsDigest()) {
    throw new DevChainUnusable(directory, 'has contracts of another version of this program', 'Run that version to continue with this chain. ');
  }
  if (disputeWindowS === wanted.disputeWindowS) return;
  throw new DevChainUnusable(directory, `has a dispute window of ${disputeWindowS} s, not ${wanted.disputeWindowS} s`,
    `Set DEV_DISPUTE_WINDOW_S back to ${disputeWindowS}. `);
}

async function refuseForeign(directory: string, { deployment, contracts, code }: Manifest, url: string): Promise<void> {
  const block = await nodeRequest<{ hash: string } | null>(url, 'eth_getBlockByNumber', [`0x${deployment.block.toString(16)}`, false]);
  if (block?.hash !== deployment.hash) {
    throw new DevChainUnusable(directory, `has the state of another chain: its block ${deployment.block} is not the block of the manifest`);
  }
  const found = await codeAt(url, contracts);
  const changed = Object.keys(contracts).filter((name) => found[name] !== code[name]);
  if (changed.length > 0) throw new DevChainUnusable(directory, `has other code where it should have ${changed.join(', ')}`);
}

/** The process that runs the chain; `url` is set once the chain answers. */
interface Note {
  readonly process: string;
  readonly url?: string;
}

const noteIn = (directory: string) => join(directory, 'anvil.json');

/** Writes the note synchronously, since this process may be killed at any moment. */
function note(directory: string, content: Note): void {
  writeFileSync(`${noteIn(directory)}.new`, JSON.stringify(content));
  renameSync(`${noteIn(directory)}.new`, noteIn(directory));
}

async function forget(directory: string): Promise<void> {
  await rm(noteIn(directory), { force: true });
}

/** Keeps the state of the anvil that a killed service left running, and stops it. */
async function stopKilledServices(directory: string, log: (line: string) => void): Promise<void> {
  const { process: identity, url } = JSON.parse(await readFile(noteIn(directory), 'utf8').catch(() => '{}')) as Partial<Note>;
  const pid = Number.parseInt(identity ?? '', 10);
  const isGone = () => processIdentity(pid) !== identity;
  if (!isGone()) {
    log(`stopping the development chain (process ${pid}) that an earlier, killed service left running`);
    if (url !== undefined && (await readdir(directory)).includes('kept')) {
      await dumpState(url).then((state) => replaceState(directory, state))
        .catch((error: unknown) => { log(`the chain does not give its state, so its last blocks may be lost: ${(error as Error).message}`); });
    }
    await stopOrphan(pid, isGone);
  }
  await forget(directory);
}
