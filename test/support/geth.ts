/** go-ethereum in development mode for tests: a second real node, which can be killed and started again on the same data. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { JsonRpcProvider, Wallet, parseEther, toQuantity, type HDNodeWallet } from 'ethers';
import { spawnGuarded } from '../../stack/guarded-process.js';
import { keepAlive } from '../../stack/keep-alive.js';
import { readOutput } from '../../stack/process-output.js';
import { testAccounts, withContracts, type ActingNode, type DeploymentOptions, type Receipt } from './deployed-chain.js';
import { eventually, withSettler } from './exchange-on-chain.js';
import { rpcTo } from './proxies.js';

/** The chain id of every development chain of geth's. */
export const GETH_CHAIN_ID = 1_337;

/** Geth's own account in development mode, which it signs for. */
const DEVELOPER = '0x71562b71999873DB5b286dF957af199Ec94617F7';

/** When blocks come: with each transaction; every second, also empty ones; or only by `mine`. */
export type Blocks = 'on demand' | 'every second' | 'by hand';

export interface GethOptions {
  readonly blocks?: Blocks;
  /** Whether the state of every block is on disk at once. Geth's own default keeps up to 128 blocks of it in memory, and a kill loses them. */
  readonly keepsState?: boolean;
  /** Whether transactions of the pool are on disk, and there again after a kill. */
  readonly keepsPool?: boolean;
}

export interface Geth extends ActingNode {
  readonly chainId: typeof GETH_CHAIN_ID;
  /** Makes blocks, where they come by hand, with all that the pool has, or empty ones. */
  mine(blocks?: number, options?: { readonly empty?: boolean }): Promise<void>;
  /** Takes the newest blocks away, as an operator does with a node that has gone wrong. Their transactions may be in the pool afterwards or not. */
  setHead(block: number): Promise<void>;
  /** `kill -9`. */
  kill(): Promise<void>;
  /** Stops it as an operator does. */
  end(): Promise<void>;
  /** Starts it on the same data and at the same port, after a kill or a stop. */
  start(blocks?: Blocks): Promise<void>;
}

const PERIODS_S: Readonly<Record<Blocks, number>> = { 'on demand': 0, 'every second': 1, 'by hand': 1_000_000 };

const BLOCK_GAS = 30_000_000;

/** The program that GETH names. `npm test` sets it. */
function gethProgram(): string {
  const program = process.env['GETH'];
  if (program === undefined || program === '') throw new Error('GETH names no program: .ci/geth builds go-ethereum and prints its path');
  return program;
}

/** Starts geth in a folder of its own, where the accounts of the test mnemonic have ether. Call stop() in an `after` hook. */
export async function startGeth({ blocks = 'on demand', keepsState = true, keepsPool = true }: GethOptions = {}): Promise<Geth> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-geth-'));
  const scheme = ['--state.scheme', keepsState ? 'hash' : 'path'];
  const args = [...scheme, ...keepsState ? ['--gcmode', 'archive'] : [], ...keepsPool ? [] : ['--txpool.journal', '']];
  await initialize(directory, scheme);
  let running = await runGeth({ directory, port: 0, blocks, args });
  let now = blocks;
  const { port } = running;
  const url = `http://127.0.0.1:${port}`;
  const provider = new JsonRpcProvider(url, GETH_CHAIN_ID, { staticNetwork: true, cacheTimeout: -1, polling: true, pollingInterval: 50 });
  const rpc: Geth['rpc'] = (method, params = []) => provider.send(method, [...params]) as Promise<unknown>;
  const mined = (hash: string) => eventually(`${hash} is mined`, async () => (await rpc('eth_getTransactionReceipt', [hash]) as Receipt | null) ?? undefined);
  return {
    url, provider, rpc, chainId: GETH_CHAIN_ID,
    async transact(from, { to, data, gas }) {
      const limit = gas === undefined ? {} : { gasLimit: gas };
      const { hash } = await (from as Wallet | HDNodeWallet).connect(provider).sendTransaction({ to, data, ...limit });
      return await mined(hash);
    },
    async fund({ address }) {
      const hash = await rpc('eth_sendTransaction', [{ from: DEVELOPER, to: address, value: toQuantity(parseEther('100')) }]) as string;
      if (now === 'by hand') await mineOne(rpc, false);
      await mined(hash);
    },
    async mine(count = 1, { empty = false } = {}) {
      for (let i = 0; i < count; i++) await mineOne(rpc, empty);
    },
    async setHead(block) { await rpc('debug_setHead', [toQuantity(block)]); },
    kill: () => running.end('SIGKILL'),
    end: () => running.end('SIGINT'),
    async start(then = blocks) {
      now = then;
      running = await runGeth({ directory, port, blocks: then, args });
    },
    async stop() {
      provider.destroy();
      await running.end('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** What the rules since Prague need on a chain: the contracts of EIP-4788, EIP-2935, EIP-7002 and EIP-7251. */
const SYSTEM_CONTRACTS = [
  '0x000f3df6d732807ef1319fb7b8bb8522d0beac02', '0x0000f90827f1c53a10cb7a02335b175320002935', '0x00000961ef480eb55e80d19ad83579a64c007002',
  '0x0000bbddc7ce488642fb579f8b00f3a590007251',
];

/**
 * Writes the first block: that of geth's development chain, with ether for the test accounts. Geth runs its development chain by the rules of a
 * fork that no chain has yet, in which storage costs several times as much gas; without that fork the rules are those of today.
 */
async function initialize(directory: string, scheme: readonly string[]): Promise<void> {
  const seedDirectory = join(directory, 'seed');
  const seed = await runGeth({ directory: seedDirectory, port: 0, blocks: 'by hand', args: [] });
  const ask = rpcTo(`http://127.0.0.1:${seed.port}`);
  const { protocols: { eth: { config } } } = await ask<{ protocols: { eth: { config: Record<string, unknown> } } }>('admin_nodeInfo', []);
  const codes = await Promise.all(SYSTEM_CONTRACTS.map((address) => ask<string>('eth_getCode', [address, 'latest'])));
  await seed.end('SIGKILL');
  // Geth would give its own account so much ether that the fees it earns make the sum overflow.
  const rich = [DEVELOPER, ...testAccounts().map(({ address }) => address)].map((address) => [address, { balance: toQuantity(parseEther('1000000')) }]);
  const system = SYSTEM_CONTRACTS.map((address, i) => [address, { balance: '0x0', nonce: '0x1', code: codes[i] }]);
  const genesis = {
    config: { ...config, bogotaTime: undefined }, difficulty: '0x0', gasLimit: toQuantity(BLOCK_GAS), baseFeePerGas: toQuantity(10 ** 9),
    alloc: Object.fromEntries([...rich, ...system]) as unknown,
  };
  const path = join(seedDirectory, 'genesis.json');
  await writeFile(path, JSON.stringify(genesis));
  await promisify(execFile)(gethProgram(), ['init', '--datadir', directory, ...scheme, path], { env: {} });
}

/**
 * Builds a block as a consensus client would; geth's own clock of blocks knows nothing of it. That clock makes one block when geth starts, at a
 * moment of its choice: where that comes between our look and our block, ours would not be later than its parent, and it is built again.
 */
async function mineOne(rpc: Geth['rpc'], empty: boolean): Promise<void> {
  const latest = async () => await rpc('eth_getBlockByNumber', ['latest', false]) as { hash: string; timestamp: string };
  const zero = `0x${'0'.repeat(64)}`;
  const { hash, timestamp } = await latest();
  try {
    await rpc('testing_commitBlockV1', [{
      timestamp: toQuantity(Math.max(Number(timestamp) + 1, Math.floor(Date.now() / 1_000))), prevRandao: Wallet.createRandom().privateKey,
      suggestedFeeRecipient: `0x${'0'.repeat(40)}`, withdrawals: [], parentBeaconBlockRoot: zero,
    }, empty ? [] : null, null]);
  } catch (error) {
    if ((await latest()).hash === hash) throw error;
    await mineOne(rpc, empty);
  }
}

interface RunningGeth {
  readonly port: number;
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>;
}

interface Running {
  readonly directory: string;
  /** 0: a free one. */
  readonly port: number;
  readonly blocks: Blocks;
  readonly args: readonly string[];
}

async function runGeth({ directory, port, blocks, args }: Running): Promise<RunningGeth> {
  const child = spawnGuarded({
    program: gethProgram(),
    args: [
      '--dev', '--datadir', directory, '--http', '--http.addr', '127.0.0.1', '--http.port', String(port), '--http.api', 'eth,net,web3,admin,debug,txpool,testing',
      '--ipcdisable', '--dev.period', String(PERIODS_S[blocks]), '--miner.gaslimit', String(BLOCK_GAS), '--cache', '128', ...args,
    ],
    env: { PATH: '/usr/bin:/bin', HOME: directory }, stopSignals: ['KILL'],
  });
  let listens: (port: number) => void = () => undefined;
  const listening = new Promise<number>((resolve) => { listens = resolve; });
  const lastLines = readOutput(child, { kept: 20, heard: (line) => {
    const found = /HTTP server started .*endpoint=127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (found !== undefined) listens(Number(found));
  } });
  const exited = new Promise<void>((resolve) => { child.once('close', () => { resolve(); }).once('error', () => { resolve(); }); });
  const found = await Promise.race([listening, exited.then(() => undefined)]);
  if (found === undefined) throw new Error(`geth does not start: ${lastLines().join('\n') || 'it said nothing'}`);
  keepAlive(child, false);
  return {
    port: found,
    async end(signal) {
      keepAlive(child, true);
      child.kill(signal);
      await exited;
    },
  };
}

/** A chain of geth's with the contracts, and a key that only the exchange settles with. */
export async function gethChain({ disputeWindowS, chain, ...options }: GethOptions & Omit<DeploymentOptions, 'chainId'> = {}) {
  return await withSettler(await withContracts(await startGeth(options), { chainId: GETH_CHAIN_ID, disputeWindowS, chain }));
}

export type GethChain = Awaited<ReturnType<typeof gethChain>>;
