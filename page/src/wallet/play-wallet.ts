/**
 * A wallet for play money: its key is in the browser's storage, where every script of this address could read it. It is
 * offered on a development stack alone.
 */
import type { Signer, TypedData } from '../../../client/src/signer.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { forget, keep, readKeptJson, type Kept } from './browser-storage.js';

export interface PlayKey {
  readonly address: Hex;
  readonly privateKey: Hex;
}

export const PLAY_KEY = 'play-wallet';

const isPlayKey = (value: unknown): value is PlayKey => {
  const { address, privateKey } = (value ?? {}) as Partial<Record<string, unknown>>;
  return /^0x[0-9a-f]{40}$/.test(String(address)) && /^0x[0-9a-f]{64}$/.test(String(privateKey));
};

/** The kept key; undefined where there is none, or rubbish. */
export function keptPlayKey(): PlayKey | undefined {
  return readKeptJson(PLAY_KEY, isPlayKey);
}

/** Makes a key, or takes the one that another tab has made meanwhile. */
export async function makePlayKey(): Promise<{ readonly key: PlayKey; readonly kept: Kept }> {
  const { Wallet } = await import('ethers');
  const there = keptPlayKey();
  if (there !== undefined) return { key: there, kept: { isKept: true } };
  const { address, privateKey } = Wallet.createRandom();
  const key: PlayKey = { address: address.toLowerCase() as Hex, privateKey: privateKey as Hex };
  return { key, kept: keep(PLAY_KEY, JSON.stringify(key)) };
}

export function forgetPlayKey(): void {
  forget(PLAY_KEY);
}

/** Signs with the key. Throws Error where the address that is kept beside it is another key's. */
export function playSigner({ address, privateKey }: PlayKey): Signer {
  return {
    address,
    async signTypedData({ domain, types, message }: TypedData) {
      const { Wallet } = await import('ethers');
      const wallet = new Wallet(privateKey);
      if (wallet.address.toLowerCase() !== address) throw new Error('the kept key is not that of the wallet: forget it, and create another one');
      return wallet.signTypedData(domain, types as Record<string, { name: string; type: string }[]>, message);
    },
  };
}
