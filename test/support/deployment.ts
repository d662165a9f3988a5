/** Deployments by tools/deploy/ on a chain of a test's own, with nodes that die, lose or lie as a test tells them. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keccak256, type HDNodeWallet } from 'ethers';
import type { Rpc } from '../../command/chain/chain.js';
import { createRpc } from '../../command/chain/rpc.js';
import { deploy, type Deploying, type Deployment } from '../../tools/deploy/deploy.js';
import type { DeploymentRecord } from '../../tools/deploy/record.js';
import type { RequestedTerms } from '../../tools/deploy/terms.js';
import { TEST_CHAIN_ID, testChain, type TestChain } from './chain.js';
import { testAccounts } from './deployed-chain.js';

/** A run ended here, as by kill -9. */
export class Killed extends Error {}

export type Ask = <T>(method: string, params: readonly unknown[]) => Promise<T>;

export interface DeploymentScene {
  readonly chain: TestChain;
  /** Each has coin. */
  readonly accounts: readonly HDNodeWallet[];
  readonly rpc: Rpc;
  /** A node that may do something else than the chain's: `ask` is the chain's. */
  node(request: (ask: Ask, method: string, params: readonly unknown[]) => Promise<unknown>): Rpc;
  /** A directory of its own, removed at the end. */
  directory(): Promise<string>;
  /** What `run` is given, unless told otherwise. */
  deploying(wallet: Deploying['wallet'], directory: string): Deploying;
  /** A deployment on a testnet without confirmations, unless told otherwise; `said` collects what it says. */
  run(deployer: HDNodeWallet, directory: string, changes?: Partial<Omit<Deploying, 'requested'>> & { readonly requested?: Partial<RequestedTerms> }): Promise<Deployment>;
  nonceOf(account: HDNodeWallet): Promise<number>;
  stop(): Promise<void>;
}

export async function deploymentScene(): Promise<DeploymentScene> {
  const chain = await testChain({ args: ['--auto-impersonate'] });
  const chainId = TEST_CHAIN_ID;
  const rpc = createRpc({ chainId, urls: [chain.url], now: () => performance.now(), report: () => undefined });
  const directories: string[] = [];
  const deploying = (wallet: Deploying['wallet'], directory: string): Deploying => ({
    rpc, wallet, directory, name: 'Test chain', confirmations: 0, pollMs: 5, say: () => undefined,
    limits: { maxFeePerGas: 500_000_000_000n, minPriorityFeePerGas: 1n }, requested: { testnet: true },
  });
  return {
    chain, rpc, accounts: testAccounts(),
    node: (request) => ({
      chainId,
      request: async <T>(method: string, params: readonly unknown[]) => await request((asked, of) => rpc.request(asked, of), method, params) as T,
    }),
    async directory() {
      const made = await mkdtemp(join(tmpdir(), 'prediction-exchange-deploy-'));
      directories.push(made);
      return made;
    },
    deploying,
    run: (deployer, directory, { requested, ...changes } = {}) => (
      deploy({ ...deploying(deployer, directory), requested: { testnet: true, ...requested }, ...changes })),
    nonceOf: async ({ address }) => Number(await chain.rpc('eth_getTransactionCount', [address, 'latest'])),
    async stop() {
      await chain.stop();
      for (const each of directories) await rm(each, { recursive: true });
    },
  };
}

export function recordIn(directory: string): DeploymentRecord {
  return JSON.parse(readFileSync(join(directory, 'deployment.json'), 'utf8')) as DeploymentRecord;
}

/** The hash of a transaction's bytes. */
export function hashOf(raw: unknown): string {
  return keccak256(raw as string);
}
