/** The one format of private keys, in files, in environment variables, and at the places that a chains file names. */
import { computeAddress } from 'ethers/transaction';

/** For errors and documents. */
export const KEY_FORMAT = '64 hex digits, with or without 0x';

/**
 * The key in a text, as 0x and 64 lower-case hex digits, whatever white space is around it; undefined when there is
 * none. Zero, and numbers from the curve's order on, are no keys.
 */
export function privateKeyIn(text: string): string | undefined {
  const [, digits] = /^\s*(?:0x)?([0-9a-f]{64})\s*$/i.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const key = `0x${digits.toLowerCase()}`;
  try {
    computeAddress(key);
    return key;
  } catch {
    return undefined;
  }
}
