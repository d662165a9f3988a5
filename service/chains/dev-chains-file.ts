/** Writes the chains file that describes the running development chain, with which other processes of the exchange are started: CHAINS=its path. */
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DevChain } from '../embedded/chain/dev-chain.js';
import { writeDurably } from '../embedded/durable-files.js';

/** Where the file is, in the chain's directory. */
export function devChainsFile(directory: string): string {
  return join(directory, 'chains.json');
}

const KEY_FILE = 'operator-key';

/**
 * Writes the file, with its operator's key in another file beside it that only this user can read. Replaces those of a killed process. Whoever
 * finds the file finds the whole of it.
 */
export async function writeDevChainsFile(directory: string, { dev, pollMs }: { dev: DevChain; pollMs: number }): Promise<void> {
  await removeDevChainsFile(directory);
  await writeDurably(join(directory, KEY_FILE), `${dev.operatorKey}\n`, { secret: true });
  const { domainName: settlementDomainName, ...chain } = dev.chain;
  const chains = [{
    ...chain, settlementDomainName, rpcUrls: [dev.heldUrl], publicRpcUrl: dev.rpcUrl, operatorKey: { file: KEY_FILE }, pollMs, blocksOnDemand: true,
  }];
  const path = devChainsFile(directory);
  await writeDurably(`${path}.new`, `${JSON.stringify({ chains }, undefined, 2)}\n`);
  await rename(`${path}.new`, path);
}

/** Removes both files, those of a killed process too: their URLs lead nowhere any more. */
export async function removeDevChainsFile(directory: string): Promise<void> {
  const path = devChainsFile(directory);
  for (const each of [path, `${path}.new`, join(directory, KEY_FILE)]) await rm(each, { force: true });
}
