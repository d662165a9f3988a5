/** Real chains for tests: an anvil of their own, which ends with them, with the contracts loaded from a state that is made once in a run. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { JsonRpcProvider, HDNodeWallet } from 'ethers';
import { startAnvil, TEST_MNEMONIC, type Anvil } from '../../stack/chain/anvil.js';
import { deployContracts, type DeployedContracts, type DeployOptions } from '../../stack/chain/deploy-contracts.js';
import { oncePerRun } from './once-per-run.js';

export const TEST_CHAIN_ID = 31_337;

export interface TestChain extends Anvil {
  readonly provider: JsonRpcProvider;
  /** Any method of anvil's, such as `evm_mine` or `anvil_reorg`. */
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** The receipt of a transaction just taken, which is mined a moment later. Rejects for one that is not, as one without gas for its data. */
  receipt<Receipt>(hash: unknown): Promise<Receipt>;
}

/** Starts an anvil; call stop() in an `after` hook. A mocha process that ends without it takes the chain along. */
export async function testChain({ chainId = TEST_CHAIN_ID, args = [] }: { chainId?: number; args?: readonly string[] } = {}): Promise<TestChain> {
  // Without a bound anvil keeps 500 states and then writes them into the home directory.
  const anvil = await startAnvil({ chainId, args: ['--prune-history', '128', ...args] });
  const kill = () => {
    try {
      process.kill(anvil.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  process.once('exit', kill);
  const provider = new JsonRpcProvider(anvil.url, chainId, { staticNetwork: true, cacheTimeout: -1, polling: true, pollingInterval: 50 });
  const rpc: TestChain['rpc'] = (method, params = []) => provider.send(method, [...params]) as Promise<unknown>;
  return {
    ...anvil, provider, rpc,
    async receipt<Receipt>(hash: unknown): Promise<Receipt> {
      for (let tries = 0; tries < 1_000; tries++) {
        const receipt = await rpc('eth_getTransactionReceipt', [hash]) as Receipt | null;
        if (receipt !== null) return receipt;
      }
      throw new Error(`transaction ${String(hash)} is not mined`);
    },
    async stop() {
      provider.destroy();
      await anvil.stop();
      process.off('exit', kill);
    },
  };
}

interface ContractsOptions {
  readonly chainId?: number | undefined;
  /** Further arguments of anvil. */
  readonly args?: readonly string[] | undefined;
  /** What is deployed otherwise than usual. */
  readonly terms?: Omit<DeployOptions, 'signer'> | undefined;
}

/** Account 0 of the test mnemonic has deployed. The latest block is of now. Call stop() in an `after` hook. */
export async function chainWithContracts(options: ContractsOptions = {}): Promise<{ chain: TestChain; deployed: DeployedContracts }> {
  const { chainId = TEST_CHAIN_ID, args = [] } = options;
  const key = createHash('sha256').update(JSON.stringify(options, (_, value: unknown) => typeof value === 'bigint' ? `${value}n` : value));
  const name = `chain-${key.digest('hex').slice(0, 16)}`;
  const made = deployment(options);
  const [state, contracts] = await Promise.all([
    oncePerRun(`${name}-state.json`, async (path) => { await writeFile(path, (await made()).state); }),
    oncePerRun(`${name}-contracts.json`, async (path) => { await writeFile(path, JSON.stringify((await made()).deployed)); }),
  ]);
  const chain = await testChain({ chainId, args: [...args, '--load-state', state] });
  await chain.rpc('evm_mine');
  return { chain, deployed: JSON.parse(await readFile(contracts, 'utf8')) as DeployedContracts };
}

/** Deploys on a chain of its own, at the first call. */
function deployment({ chainId = TEST_CHAIN_ID, args = [], terms }: ContractsOptions): () => Promise<{ state: Buffer; deployed: DeployedContracts }> {
  let made: Promise<{ state: Buffer; deployed: DeployedContracts }> | undefined;
  const deploy = async () => {
    const chain = await testChain({ chainId, args });
    const deployed = await deployContracts({ signer: HDNodeWallet.fromPhrase(TEST_MNEMONIC).connect(chain.provider), ...terms });
    // With the states of earlier blocks, which the service reads.
    const dumped = await chain.rpc('anvil_dumpState', [true]) as string;
    await chain.stop();
    return { state: gunzipSync(Buffer.from(dumped.slice(2), 'hex')), deployed };
  };
  return () => made ??= deploy();
}
