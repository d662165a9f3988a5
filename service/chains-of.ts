/** The chains of a configuration: those of a chains file, or none. */
import type { ConfiguredChain } from '../command/chain/configured-chain.js';
import { CannotStart } from '../engine/cannot-start.js';
import { readChainsFile, type ChainOfFile, type Secrets } from './chains-file.js';

/** After this time without a new block, a chain counts as stalled. */
const STALLED_AFTER_MS = 120_000;

/** Reads the chains file that CHAINS names. Throws errors that say what to do. */
export async function chainsOf(chains: string, secrets: Secrets): Promise<readonly ConfiguredChain[]> {
  if (chains === 'none') return [];
  if (chains === 'dev') throw new CannotStart('CHAINS=dev needs the development stack: start the exchange by npm start', { hopeless: true });
  return (await readChainsFile(chains, secrets)).map(configured);
}

function configured({ blocksOnDemand, ...chain }: ChainOfFile): ConfiguredChain {
  return { ...chain, stalledAfterMs: blocksOnDemand ? Infinity : STALLED_AFTER_MS };
}
