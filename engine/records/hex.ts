/** Hex text of requests, in any case, and bytes as the lower-case hex of records. */

export const ADDRESS_PATTERN = '^0x[0-9a-fA-F]{40}$';
export const BYTES32_PATTERN = '^0x[0-9a-fA-F]{64}$';

const BYTES32 = new RegExp(BYTES32_PATTERN);
const SIGNATURE = /^0x[0-9a-fA-F]{130}$/;

export function isBytes32(value: unknown): value is string {
  return typeof value === 'string' && BYTES32.test(value);
}

/** The 65 bytes of a signature in hex, undefined for anything else. */
export function signatureBytes(value: unknown): Buffer | undefined {
  if (typeof value !== 'string' || !SIGNATURE.test(value)) return undefined;
  return Buffer.from(value.slice(2), 'hex');
}

/** Bytes as lower-case hex with `0x`. */
export function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}
