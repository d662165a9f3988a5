/** The chains of a configuration: those of a chains file, a development chain that is started here, or none. */
import { join } from 'node:path';
import type { Chain } from '../../command/chain/chain.js';
import type { Report } from '../../engine/report.js';
import { createRpc } from '../../command/chain/rpc.js';
import { readCatalogue } from './catalogue.js';
import type { ConfiguredChain } from './configured-chain.js';
import { readChainsFile, type ChainOfFile, type Secrets } from './chains-file.js';
import type { Config } from '../config.js';
import { removeDevChainsFile, writeDevChainsFile } from './dev-chains-file.js';
import type { DevChain } from '../embedded/chain/dev-chain.js';
import { createKeptAlarm } from '../embedded/chain/kept-alarm.js';

export interface ChainsOfConfig {
  readonly chains: readonly ConfiguredChain[];
  /** The development chain; undefined without one. */
  readonly dev: DevelopmentChain | undefined;
  /** Resolves with how a chain that was started here ended when it ends by itself. */
  readonly ended: DevChain['ended'];
  /** Stops what was started here. */
  close(): Promise<void>;
}

/** The development chain that was started here. */
export interface DevelopmentChain {
  readonly chain: Chain;
  readonly rpcUrl: string;
  /** Number of blocks that were mined and are not on disk yet: nothing is concluded from them before. */
  unkeptBlocks(): number;
}

export interface OpeningChains extends Secrets {
  /** Receives the lines of the development chain. */
  readonly log: (line: string) => void;
  readonly report: Report;
}

type Wanted = Pick<Config, 'chains' | 'chainId' | 'chainName' | 'chainPort' | 'devDisputeWindowS' | 'dataDir' | 'exposureCheck' | 'catalogue'>;

/** Time between two requests to the development chain for new blocks. */
const DEV_POLL_MS = 100;
/** After this time without a new block, a chain counts as stalled. */
const STALLED_AFTER_MS = 120_000;
/** Time between two checks whether the development chain's blocks are on disk. */
const KEPT_CHECK_MS = 1_000;

/**
 * Prepares the chains: reads the chains file, or starts the development chain and creates the catalogue's markets on it. Throws errors
 * that say what to do.
 */
export async function chainsOf(config: Wanted, { environment, signs, log, report }: OpeningChains): Promise<ChainsOfConfig> {
  if (config.chains === 'none') return { chains: [], dev: undefined, ...nothingStarted };
  if (config.chains !== 'dev') {
    const chains = await readChainsFile(config.chains, { environment, signs });
    return { chains: chains.map(configured), dev: undefined, ...nothingStarted };
  }
  return startDevelopment(config, { log, report });
}

function configured({ blocksOnDemand, ...chain }: ChainOfFile): ConfiguredChain {
  return { ...chain, stalledAfterMs: blocksOnDemand ? Infinity : STALLED_AFTER_MS };
}

/** Starts the development chain, creates the catalogue's markets, and writes the chains file with which other processes find the chain. */
async function startDevelopment(config: Wanted, { log, report }: Pick<OpeningChains, 'log' | 'report'>): Promise<ChainsOfConfig> {
  const { chainId, chainName: name, chainPort: port, exposureCheck, devDisputeWindowS: disputeWindowS } = config;
  const directory = join(config.dataDir, 'chain');
  // What only a development chain needs is loaded for it alone: it takes a part of a second.
  const [{ startDevChain }, { createMissingMarkets }] = await Promise.all([import('../embedded/chain/dev-chain.js'), import('./create-markets.js')]);
  const dev = await startDevChain({ directory, port, chainId, name, exposureCheck, disputeWindowS, log });
  const watch = watchKept(dev, report);
  const close = async (): Promise<void> => {
    clearInterval(watch);
    await removeDevChainsFile(directory);
    await dev.stop();
  };
  try {
    await removeDevChainsFile(directory);
    const rpc = createRpc({ chainId, urls: [dev.rpcUrl], now: () => performance.now(), report: (_, text) => { log(text); } });
    const catalogue = await readCatalogue(config.catalogue);
    await createMissingMarkets({ catalogue, chain: dev.chain, rpc, key: dev.creatorKey, now: () => Date.now() });
    await dev.keep();
    await writeDevChainsFile(directory, { dev, pollMs: DEV_POLL_MS });
  } catch (error) {
    await close();
    throw error;
  }
  const { operatorKey, relayerKey, relayer, quickKey, quick, rpcUrl, heldUrl } = dev;
  const chain = { ...dev.chain, publicRpcUrl: rpcUrl };
  return {
    chains: [{ chain, operatorKey, relayerKey, relayer, quickKey, quick, rpcUrls: [heldUrl], pollMs: DEV_POLL_MS, stalledAfterMs: Infinity }],
    dev: { chain, rpcUrl, unkeptBlocks: () => dev.kept().unkeptBlocks }, ended: dev.ended, close,
  };
}

function watchKept(dev: DevChain, report: Report): NodeJS.Timeout {
  const look = createKeptAlarm(report);
  return setInterval(() => { look(dev.kept(), performance.now()); }, KEPT_CHECK_MS).unref();
}

const nothingStarted = { ended: new Promise<never>(() => undefined), close: () => Promise.resolve() };
