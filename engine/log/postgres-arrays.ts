/**
 * uuid[] and bytea[] in Postgres' binary array format: node-postgres would send and receive them as hex text, at several times
 * the cost. The format: dimensions, has-nulls flag, element type, then length and lower bound of the one dimension, then each
 * element after its length, all in big-endian 32-bit integers (Postgres source, array_send in arrayfuncs.c).
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

/** The records of a page from its two arrays, positions counted up from `first`. Their data are views into the array. */
export function decodeRecords(first: number, ids: Buffer, datas: Buffer): LogRecord[] {
  const count = ids.readInt32BE(12);
  const records = new Array<LogRecord>(count);
  let idAt = HEADER_BYTES;
  let dataAt = HEADER_BYTES;
  for (let i = 0; i < count; i++) {
    const hex = ids.toString('hex', idAt + 4, idAt + 20);
    const length = datas.readInt32BE(dataAt);
    records[i] = {
      position: first + i,
      id: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`,
      data: datas.subarray(dataAt + 4, dataAt + 4 + length),
    };
    idAt += 20;
    dataAt += 4 + length;
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
