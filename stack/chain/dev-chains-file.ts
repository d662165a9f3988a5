/** Writes the chains file of the running development chain. Other processes of the exchange use it with CHAINS=path. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DevChain } from './dev-chain.js';
import { replaceDurably, writeDurably } from '../../service/machine/durable-files.js';

/** The path of the file in the chain's directory. */
export function devChainsFile(directory: string): string {
  return join(directory, 'chains.json');
}

const KEY_FILE = 'operator-key';
const RELAYER_KEY_FILE = 'relayer-key';
const QUICK_KEY_FILE = 'quick-key';

/**
 * Writes the chains file, and the keys to files of their own that only this user can read. Replaces the files of a killed process. The
 * chains file is complete as soon as it exists.
 */
export async function writeDevChainsFile(directory: string, { dev, pollMs }: { dev: DevChain; pollMs: number }): Promise<void> {
  await removeDevChainsFile(directory);
  await writeDurably(join(directory, KEY_FILE), `${dev.operatorKey}\n`, { secret: true });
  await writeDurably(join(directory, RELAYER_KEY_FILE), `${dev.relayerKey}\n`, { secret: true });
  await writeDurably(join(directory, QUICK_KEY_FILE), `${dev.quickKey}\n`, { secret: true });
  const { domainName: settlementDomainName, ...chain } = dev.chain;
  const chains = [{
    ...chain, settlementDomainName, rpcUrls: [dev.rpcUrl], publicRpcUrl: dev.rpcUrl, operatorKey: { file: KEY_FILE },
    relayerKey: { file: RELAYER_KEY_FILE }, relayerAddress: dev.relayer, quickKey: { file: QUICK_KEY_FILE }, quickAddress: dev.quick,
    pollMs, blocksOnDemand: true,
  }];
  await replaceDurably(devChainsFile(directory), `${JSON.stringify({ chains }, undefined, 2)}\n`);
}

/** Removes the files, also those of a killed process, whose URLs are no longer valid. */
export async function removeDevChainsFile(directory: string): Promise<void> {
  const path = devChainsFile(directory);
  const keys = [KEY_FILE, RELAYER_KEY_FILE, QUICK_KEY_FILE].map((name) => join(directory, name));
  for (const each of [path, `${path}.new`, ...keys]) await rm(each, { force: true });
}
