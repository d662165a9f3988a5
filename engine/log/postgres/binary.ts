/**
 * The binary formats of records on their way to and from Postgres. Hex text, which node-postgres would use, costs several times as
 * much.
 *
 * Arrays: dimensions, has-nulls flag, element type, then length and lower bound of the one dimension, then each element after its
 * length, all in big-endian 32-bit integers (array_send in Postgres' arrayfuncs.c). COPY: "Binary Format" in Postgres'
 * documentation of COPY.
 */
import type { LogRecord, NewRecord } from '../log.js';

const UUID_TYPE = 2950;
const BYTEA_TYPE = 17;
const HEADER_BYTES = 20;

/** The records' ids as a uuid[]; they must be well-formed. */
export function encodeIds(records: readonly NewRecord[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + records.length * 20);
  let at = writeHeader(buffer, UUID_TYPE, records.length);
  for (const { id } of records) {
    at = buffer.writeInt32BE(16, at);
    buffer.write(id.replaceAll('-', ''), at, 'hex');
    at += 16;
  }
  return buffer;
}

/** The records' data as a bytea[]. */
export function encodeData(records: readonly NewRecord[]): Buffer {
  let bytes = HEADER_BYTES;
  for (const { data } of records) bytes += 4 + data.length;
  const buffer = Buffer.allocUnsafe(bytes);
  let at = writeHeader(buffer, BYTEA_TYPE, records.length);
  for (const { data } of records) {
    at = buffer.writeInt32BE(data.length, at);
    buffer.set(data, at);
    at += data.length;
  }
  return buffer;
}

/** The records in the output of `copy (select position, id, data …) to stdout (format binary)`. Their data are views of `bytes`. */
export function decodeCopy(bytes: Buffer): LogRecord[] {
  const records: LogRecord[] = [];
  // Layout: a signature of 11 bytes, flags, the length of an unused extension, the extension, the rows, a field count of -1.
  let at = 19 + bytes.readInt32BE(15);
  while (bytes.readInt16BE(at) === 3) {
    const position = Number(bytes.readBigInt64BE(at + 6));
    const hex = bytes.toString('hex', at + 18, at + 34);
    const length = bytes.readInt32BE(at + 34);
    records.push({
      position,
      id: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`,
      data: bytes.subarray(at + 38, at + 38 + length),
    });
    at += 38 + length;
  }
  return records;
}

function writeHeader(buffer: Buffer, elementType: number, count: number): number {
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(0, 4);
  buffer.writeInt32BE(elementType, 8);
  buffer.writeInt32BE(count, 12);
  return buffer.writeInt32BE(1, 16);
}
