/** The chain of digests (docs/matching-rules.md, "Digest") by WebAssembly: a browser's own SHA-256 takes a promise per hash. */
import { createSHA256 } from 'hash-wasm';
import { GENESIS_DIGEST } from '../../../engine/records/codec.js';
import { toHex } from '../../../engine/records/hex.js';
import type { Digests } from '../../../engine/run/stepping.js';
import type { Recorded } from './history-lines.js';

const DIGEST_BYTES = 32;
const HEAD_BYTES = DIGEST_BYTES + 4;
const encoder = new TextEncoder();

export interface RecordedDigests extends Digests {
  /** The outcome that was recorded: where the engine's text is the same, its bytes are there already. */
  expect(outcome: Recorded): void;
}

/** The chain from the start of the history, or from this digest on. */
export async function createDigestChain(from = GENESIS_DIGEST): Promise<RecordedDigests> {
  const hasher = await createSHA256();
  let buffer = new Uint8Array(16_384);
  buffer.set(from);
  let expected: Recorded = { data: buffer.subarray(0, 0), text: '' };
  return {
    get last() { return buffer.slice(0, DIGEST_BYTES); },
    expect(outcome) { expected = outcome; },
    next(command, text) {
      const outcome = text === expected.text ? expected.data : encoder.encode(text);
      const textStart = HEAD_BYTES + command.length;
      const length = textStart + outcome.length;
      if (length > buffer.length) buffer = grown(buffer, length * 2);
      buffer[DIGEST_BYTES] = command.length >>> 24;
      buffer[DIGEST_BYTES + 1] = command.length >>> 16;
      buffer[DIGEST_BYTES + 2] = command.length >>> 8;
      buffer[DIGEST_BYTES + 3] = command.length;
      buffer.set(command, HEAD_BYTES);
      buffer.set(outcome, textStart);
      const digest = hasher.init().update(buffer.subarray(0, length)).digest('binary');
      buffer.set(digest);
      return toHex(digest);
    },
  };
}

function grown(buffer: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length);
  larger.set(buffer.subarray(0, DIGEST_BYTES));
  return larger;
}
