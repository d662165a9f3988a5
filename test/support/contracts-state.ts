/** A chain with the contracts on it, loaded from a state that is made once in a run: deploying takes ten times as long. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { HDNodeWallet } from 'ethers';
import { TEST_MNEMONIC } from '../../stack/chain/anvil.js';
import { deployContracts, type DeployedContracts, type DeployOptions } from '../../stack/chain/deploy-contracts.js';
import { oncePerRun } from './once-per-run.js';
import { TEST_CHAIN_ID, testChain, type TestChain } from './chain.js';

export interface ContractsOptions {
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
