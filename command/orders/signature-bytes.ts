/** A request's signature as bytes. */
import { SIGNATURE } from '../../engine/records/hex.js';

const givenSignature = new RegExp(SIGNATURE.given);

/** The 65 bytes of a signature in hex; undefined for anything else. */
export function signatureBytes(value: unknown): Buffer | undefined {
  if (typeof value !== 'string' || !givenSignature.test(value)) return undefined;
  return Buffer.from(value.slice(2), 'hex');
}
