/** The chain of digests (docs/matching-rules.md, "Digest") by WebAssembly: a browser's own SHA-256 takes a promise per hash. */
import { createSHA256 } from 'hash-wasm';
import type { Digests } from '../../../engine/run/stepping.js';

const DIGEST_BYTES = 32;
const HEAD_BYTES = DIGEST_BYTES + 4;
const encoder = new TextEncoder();

/** The chain from the start of the history. */
export async function createDigestChain(): Promise<Digests> {
  const hasher = await createSHA256();
  let buffer = new Uint8Array(16_384);
  let last = new Uint8Array(DIGEST_BYTES);
  return {
    get last() { return last; },
    next(command, text) {
      // One UTF-16 code unit takes at most three bytes in UTF-8.
      const room = HEAD_BYTES + command.length + text.length * 3;
      if (room > buffer.length) buffer = new Uint8Array(room * 2);
      buffer.set(last);
      new DataView(buffer.buffer).setUint32(DIGEST_BYTES, command.length);
      buffer.set(command, HEAD_BYTES);
      const textStart = HEAD_BYTES + command.length;
      const { written } = encoder.encodeInto(text, buffer.subarray(textStart));
      hasher.init().update(buffer.subarray(0, textStart + written));
      const hex = hasher.digest('hex');
      last = bytesOf(hex);
      return `0x${hex}`;
    },
  };
}

function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(DIGEST_BYTES);
  for (let i = 0; i < DIGEST_BYTES; i++) bytes[i] = digitOf(hex.charCodeAt(2 * i)) * 16 + digitOf(hex.charCodeAt(2 * i + 1));
  return bytes;
}

/** The value of a lower-case hex digit from its character code. */
function digitOf(code: number): number {
  return code < 58 ? code - 48 : code - 87;
}
