/** The key with which the tools act on a chain: the one that was given, else, on a test network, the development chain's, which is public. */
import { keyOfFile } from '../terminal/private-key.js';
import { privateKeyOf } from './terms.js';

export const KEY_VARIABLE = 'MARKET_KEY';

export interface KeySources {
  readonly keyFile?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly chain: { readonly chainId: number; readonly testnet: boolean };
  /** The development chain's. */
  readonly development: () => Promise<string>;
}

export async function keyFrom({ keyFile, environment, chain: { chainId, testnet }, development }: KeySources): Promise<string> {
  if (keyFile !== undefined) return await keyOfFile(keyFile);
  const given = environment[KEY_VARIABLE] ?? '';
  if (given !== '') return privateKeyOf(given, KEY_VARIABLE);
  if (!testnet) throw new Error(`chain ${chainId} needs a key: set ${KEY_VARIABLE}, or give --key-file`);
  return development();
}
