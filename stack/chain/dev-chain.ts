/**
 * Runs the development chain: a real EVM chain with the project's contracts, created at the first start and kept over restarts.
 *
 * anvil writes its state itself, every few seconds and when it ends. When the service is killed, its guard ends anvil in good order
 * (guarded-process.ts), and nothing is lost. When anvil itself is killed, or the power fails, the last seconds are: then the indexer finds
 * that the history has facts of blocks that the chain does not have, and the process ends with what to do.
 */
import { writeFileSync } from 'node:fs';
import { mkdir, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Chain } from '../../command/chain/chain.js';
import { startAnvil, type Anvil } from './anvil.js';
import { SETTLEMENT_DOMAIN_NAME } from '../../tools/deploy/plan.js';
import { artifactsDigest, makeDevContracts, creatorWallet, operatorWallet, quickWallet, relayerWallet } from './dev-contracts.js';
import { DevChainUnusable, digestOf, makeNewChain, readManifest, stateFile, type Manifest } from './dev-chain-state.js';
import { lockDirectory } from '../../service/machine/directory-lock.js';
import { nodeRequest } from './node-request.js';
import { endProcess, runsOn } from '../leftover.js';

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
  /** URL of the node's JSON-RPC. */
  readonly rpcUrl: string;
  /** Process id of anvil. */
  readonly pid: number;
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
  /** Receives the lines of anvil. */
  readonly log: (line: string) => void;
  /** Time between two writes of the state, in whole seconds. */
  readonly writeEveryS?: number;
}

/**
 * Number of latest blocks whose states can be requested. Each takes a copy of all accounts in memory. anvil's default (500, then files in
 * the home directory) takes ten times the memory.
 */
const STATES_KEPT = 128;
/** Each write is of the whole state: 4 kB per transaction. */
const WRITE_EVERY_S = 5;
const STOP_TIMEOUT_MS = 20_000;

/**
 * Starts the chain. Resolves when it answers and is verified to be the kept chain. Throws DirectoryInUse while another process has the
 * directory, and DevChainUnusable when the kept chain is damaged, is another chain, or has contracts of another version.
 */
export async function startDevChain(options: DevChainOptions): Promise<DevChain> {
  await mkdir(options.directory, { recursive: true });
  const directory = await realpath(options.directory);
  const unlock = await lockDirectory(directory);
  let anvil: Anvil | undefined;
  try {
    await stopLeftover(directory, options.log);
    const manifest = await readManifest(directory) ?? await makeChain(directory, options);
    refuseOutdated(directory, manifest, options);
    anvil = await launch(directory, options, ['--state', stateFile(directory), '--state-interval', String(options.writeEveryS ?? WRITE_EVERY_S)]);
    await refuseForeign(directory, manifest, anvil.url);
    return devChainOf({ manifest, options, directory, anvil, unlock });
  } catch (error) {
    // What is refused stays as it is: anvil would write it again.
    await anvil?.kill();
    unlock();
    throw error;
  }
}

interface Running {
  readonly manifest: Manifest;
  readonly options: DevChainOptions;
  readonly directory: string;
  readonly anvil: Anvil;
  readonly unlock: () => void;
}

function devChainOf({ manifest, options, directory, anvil, unlock }: Running): DevChain {
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    try {
      await anvil.stop();
      await rm(pidFile(directory), { force: true });
    } finally {
      unlock();
    }
  };
  return {
    chain: chainOf(manifest, options), operatorKey: operatorWallet().privateKey, creatorKey: creatorWallet().privateKey,
    relayerKey: relayerWallet().privateKey, relayer: relayerWallet().address.toLowerCase(),
    quickKey: quickWallet().privateKey, quick: quickWallet().address.toLowerCase(),
    rpcUrl: anvil.url, pid: anvil.pid, ended: anvil.ended,
    stop: () => stopped ??= stop(),
  };
}

function chainOf({ chainId, contracts, deployment }: Manifest, { name, exposureCheck }: DevChainOptions): Chain {
  // This chain has no reorganisations, so every block is final at once.
  const domainName = SETTLEMENT_DOMAIN_NAME;
  return { chainId, name, testnet: true, confirmations: 0, startBlock: deployment.block, contracts, domainName, exposureCheck };
}

/** Starts anvil, whose process id is in a file before it answers. `files` says where its state is. */
async function launch(directory: string, { chainId, port, log }: DevChainOptions, files: readonly string[]): Promise<Anvil> {
  try {
    return await startAnvil({
      chainId, port, args: ['--prune-history', String(STATES_KEPT), ...files], log,
      // Synchronous, since this process may be killed at any moment.
      spawned: (pid) => { writeFileSync(pidFile(directory), `${pid}\n`); },
    });
  } catch (cause) {
    const { message } = cause as Error;
    if (message.includes('Address already in use')) {
      throw new Error(`port ${port} of the development chain is in use: set CHAIN_PORT to another port, or to 0 for any free port`, { cause });
    }
    if (message.includes('for \'--state')) throw new DevChainUnusable(directory, `is damaged: anvil cannot load its state (${message})`);
    throw cause;
  }
}

/** Deploys the contracts on a fresh chain, which ends when its state is written. */
function makeChain(directory: string, options: DevChainOptions): Promise<Manifest> {
  const { chainId, disputeWindowS } = options;
  return makeNewChain(directory, async (state) => {
    const anvil = await launch(directory, { ...options, port: 0 }, ['--dump-state', state]);
    try {
      const { url } = anvil;
      const { contracts, deploymentBlock } = await makeDevContracts(url, { chainId, disputeWindowS });
      const { hash } = await nodeRequest<{ hash: string }>(url, 'eth_getBlockByNumber', [`0x${deploymentBlock.toString(16)}`, false]);
      return {
        version: 2, chainId, contracts, deployment: { block: deploymentBlock, hash }, code: await codeAt(url, contracts),
        artifacts: artifactsDigest(), disputeWindowS,
      };
    } finally {
      await anvil.stop();
    }
  });
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

const pidFile = (directory: string) => join(directory, 'anvil.pid');

/** Ends the anvil that a killed service left running, or waits until its guard has: it still writes the state. */
async function stopLeftover(directory: string, log: (line: string) => void): Promise<void> {
  const pid = Number.parseInt(await readFile(pidFile(directory), 'utf8').catch(() => ''), 10);
  const ended = () => !runsOn(pid, join(directory, ''));
  if (!ended()) {
    log(`stopping the development chain (process ${pid}) that an earlier, killed service left running`);
    await endProcess(pid, { ended, signals: ['SIGTERM', 'SIGKILL'], timeoutMs: STOP_TIMEOUT_MS });
  }
  await rm(pidFile(directory), { force: true });
}
