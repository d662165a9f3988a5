/** The digest chain that makes the history tamper-evident: docs/matching-rules.md, "Digest". */
import { createHash } from 'node:crypto';

/** What the digest of the first outcome starts from: 32 zero bytes. */
export const GENESIS_DIGEST: Uint8Array = new Uint8Array(32);

/**
 * SHA-256(previous ‖ byte length of the command as 32 bits big-endian ‖ command bytes ‖ outcome text in UTF-8); 32 bytes.
 * `text` is the outcome's text as `outcomeText` gives it.
 */
export function nextDigest(previous: Uint8Array, command: Uint8Array, text: string): Buffer {
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(command.length);
  return createHash('sha256').update(previous).update(length).update(command).update(text, 'utf8').digest();
}

/** 64 hex digits with `0x`, as records carry it. */
export function formatDigest(digest: Uint8Array): string {
  return `0x${Buffer.from(digest.buffer, digest.byteOffset, digest.byteLength).toString('hex')}`;
}

/** The bytes of a digest in a record. */
export function parseDigest(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}
