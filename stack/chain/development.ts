/** The development chain as the exchange uses it: with the catalogue's markets, and a chains file by which other processes find it. */
import { join } from 'node:path';
import type { Chain } from '../../command/chain/chain.js';
import { createRpc } from '../../command/chain/rpc.js';
import type { ConfiguredChain } from '../../command/chain/configured-chain.js';
import { readCatalogue } from '../../command/indexer/catalogue.js';
import type { Config } from '../../service/config.js';
import { createMissingMarkets } from './create-markets.js';
import { startDevChain, type DevChain } from './dev-chain.js';
import { removeDevChainsFile, writeDevChainsFile } from './dev-chains-file.js';

export interface DevelopmentChain {
  /** As the exchange uses it. */
  readonly configured: ConfiguredChain;
  readonly chain: Chain;
  readonly rpcUrl: string;
  /** Resolves with how the chain ended when it ends by itself. */
  readonly ended: DevChain['ended'];
  close(): Promise<void>;
}

export type DevelopmentChainSettings = Pick<
  Config, 'chainId' | 'chainPort' | 'devDisputeWindowS' | 'dataDir' | 'exposureCheck' | 'catalogue'>;

const NAME = 'Development chain';

/** Time between two requests to the development chain for new blocks. */
const POLL_MS = 100;

/** Starts the chain, and creates the catalogue's markets. `log` receives its lines. Throws errors that say what to do. */
export async function startDevelopmentChain(
  config: DevelopmentChainSettings, log: (line: string) => void,
): Promise<DevelopmentChain> {
  const { chainId, chainPort: port, exposureCheck, devDisputeWindowS: disputeWindowS } = config;
  const directory = join(config.dataDir, 'chain');
  const dev = await startDevChain({ directory, port, chainId, name: NAME, exposureCheck, disputeWindowS, log });
  const close = async (): Promise<void> => {
    await removeDevChainsFile(directory);
    await dev.stop();
  };
  try {
    await removeDevChainsFile(directory);
    const rpc = createRpc({ chainId, urls: [dev.rpcUrl], now: () => performance.now(), report: (_, text) => { log(text); } });
    const catalogue = await readCatalogue(config.catalogue);
    await createMissingMarkets({ catalogue, chain: dev.chain, rpc, key: dev.creatorKey, now: () => Date.now() });
    await writeDevChainsFile(directory, { dev, pollMs: POLL_MS });
  } catch (error) {
    await close();
    throw error;
  }
  const { operatorKey, relayerKey, relayer, quickKey, quick, rpcUrl } = dev;
  const chain = { ...dev.chain, publicRpcUrl: rpcUrl };
  return {
    configured: { chain, operatorKey, relayerKey, relayer, quickKey, quick, rpcUrls: [rpcUrl], pollMs: POLL_MS, stalledAfterMs: Infinity },
    chain, rpcUrl, ended: dev.ended, close,
  };
}
