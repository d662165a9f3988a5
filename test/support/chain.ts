/** A real chain for tests: an anvil of their own, which ends with them, and what the tests do to it. */
import { JsonRpcProvider } from 'ethers';
import { startAnvil, type Anvil } from '../../stack/chain/anvil.js';

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
