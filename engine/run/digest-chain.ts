/** The chain of digests over the history (docs/matching-rules.md, "Digest"), with Node's own SHA-256. */
import { hash } from 'node:crypto';
import { GENESIS_DIGEST } from '../records/codec.js';
import type { Digests } from './stepping.js';

const DIGEST_BYTES = 32;
const HEAD_BYTES = DIGEST_BYTES + 4;

/** The chain of digests that follows a given digest. It reuses one buffer for the bytes to be hashed. */
export class DigestChain implements Digests {
  /** Starts with the last digest: the next digest covers it first. */
  #buffer = Buffer.alloc(16_384);

  constructor(from: Uint8Array = GENESIS_DIGEST) {
    this.#buffer.set(from);
  }

  /** The last digest; 32 bytes. */
  get last(): Uint8Array {
    return Uint8Array.from(this.#buffer.subarray(0, DIGEST_BYTES));
  }

  /**
   * The next digest: SHA-256(last ‖ byte length of the command as 32 bits big-endian ‖ command bytes ‖ outcome text in
   * UTF-8). 64 hex digits with `0x`.
   */
  next(command: Uint8Array, text: string): string {
    // One UTF-16 code unit takes at most three bytes in UTF-8.
    const room = HEAD_BYTES + command.length + text.length * 3;
    if (room > this.#buffer.length) this.#buffer = Buffer.concat([this.#buffer], room * 2);
    const buffer = this.#buffer;
    buffer.writeUInt32BE(command.length, DIGEST_BYTES);
    buffer.set(command, HEAD_BYTES);
    const textStart = HEAD_BYTES + command.length;
    const length = textStart + buffer.write(text, textStart, 'utf8');
    const hex = hash('sha256', buffer.subarray(0, length), 'hex');
    buffer.write(hex, 'hex');
    return `0x${hex}`;
  }
}
