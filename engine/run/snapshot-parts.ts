/**
 * A snapshot's bytes: a checksum, a mark, and parts, which are JSON or arrays of numbers. The same content gives the
 * same bytes, whoever writes it; V8's own serialisation gives other bytes for the same number in another representation.
 */
import { createHash } from 'node:crypto';
import type { PartReader, SnapshotPart } from './snapshot-state.js';

const CHECKSUM_BYTES = 32;
/** The mark and the number of parts. */
const HEAD_BYTES = 16;
/** Parts begin at multiples of this, so that arrays of numbers can be read in place. */
const ALIGNED = 8;

/** The parts as bytes. `mark` has eight ASCII characters, which name the layout. */
export function joinParts(mark: string, parts: readonly SnapshotPart[]): Buffer {
  const pieces = parts.map((part) => (
    typeof part === 'string' ? Buffer.from(part) : Buffer.from(part.buffer, part.byteOffset, part.byteLength)));
  const table = new Uint32Array(pieces.map(({ length }) => length));
  const start = aligned(CHECKSUM_BYTES + HEAD_BYTES + table.byteLength);
  const data = Buffer.alloc(pieces.reduce((bytes, { length }) => bytes + aligned(length), start));
  data.write(mark, CHECKSUM_BYTES, 'latin1');
  data.writeUInt32LE(pieces.length, CHECKSUM_BYTES + 8);
  data.set(Buffer.from(table.buffer), CHECKSUM_BYTES + HEAD_BYTES);
  let at = start;
  for (const piece of pieces) {
    data.set(piece, at);
    at += aligned(piece.length);
  }
  data.set(checksumOf(data));
  return data;
}

/** The parts of a snapshot's bytes; undefined when the bytes are damaged or have another mark. */
export function readParts(mark: string, data: Buffer): PartReader | undefined {
  if (data.length < CHECKSUM_BYTES + HEAD_BYTES || !checksumOf(data).equals(data.subarray(0, CHECKSUM_BYTES))) return undefined;
  if (data.toString('latin1', CHECKSUM_BYTES, CHECKSUM_BYTES + mark.length) !== mark) return undefined;
  const count = data.readUInt32LE(CHECKSUM_BYTES + 8);
  let part = 0;
  let at = aligned(CHECKSUM_BYTES + HEAD_BYTES + count * 4);
  const next = (): Buffer => {
    if (part === count) throw new RangeError(`the snapshot has ${count} parts`);
    const length = data.readUInt32LE(CHECKSUM_BYTES + HEAD_BYTES + part++ * 4);
    const bytes = data.subarray(at, at + length);
    at += aligned(length);
    return bytes;
  };
  return {
    json: () => JSON.parse(next().toString()) as unknown,
    numbers(kind) {
      const bytes = next();
      const { buffer, byteOffset, length } = bytes.byteOffset % ALIGNED === 0 ? bytes : Uint8Array.from(bytes);
      return new kind(buffer, byteOffset, length / kind.BYTES_PER_ELEMENT);
    },
  };
}

function checksumOf(data: Buffer): Buffer {
  return createHash('sha256').update(data.subarray(CHECKSUM_BYTES)).digest();
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNED) * ALIGNED;
}
