/**
 * Columns of values as Postgres array parameters. Most are binary, because Postgres would have to parse the text that
 * node-postgres sends (hex for bytea is the slowest). numeric stays text: making its binary form costs more than
 * parsing the text.
 */

const OID = { bytea: 17, int8: 20, int2: 21, int4: 23 } as const;
const HEADER_BYTES = 20;
const TWO_POW_32 = 2 ** 32;

/** `bigint[]`; null stays null. Values are integers up to 2^53. */
export function int8Array(values: readonly (number | null)[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + 12 * values.length);
  let offset = header(buffer, OID.int8, values.length);
  for (const value of values) {
    if (value === null) {
      offset = buffer.writeInt32BE(-1, offset);
      continue;
    }
    offset = buffer.writeInt32BE(8, offset);
    offset = buffer.writeInt32BE(Math.floor(value / TWO_POW_32), offset);
    offset = buffer.writeUInt32BE(value >>> 0, offset);
  }
  return buffer.subarray(0, offset);
}

/** `integer[]`. */
export function int4Array(values: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + 8 * values.length);
  let offset = header(buffer, OID.int4, values.length);
  for (const value of values) offset = buffer.writeInt32BE(value, buffer.writeInt32BE(4, offset));
  return buffer.subarray(0, offset);
}

/** `smallint[]`. */
export function int2Array(values: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + 6 * values.length);
  let offset = header(buffer, OID.int2, values.length);
  for (const value of values) offset = buffer.writeInt16BE(value, buffer.writeInt32BE(2, offset));
  return buffer.subarray(0, offset);
}

/** `bytea[]` of hex values with `0x`; null stays null. */
export function byteaArray(values: readonly (string | null)[]): Buffer {
  return bytesArray(values, (hex) => hex.length / 2 - 1, (hex, to, offset, length) => { to.write(hex.slice(2), offset, length, 'hex'); });
}

/** `bytea[]` of buffers; null stays null. */
export function bufferArray(values: readonly (Buffer | null)[]): Buffer {
  return bytesArray(values, (bytes) => bytes.length, (bytes, to, offset) => { bytes.copy(to, offset); });
}

function bytesArray<Value>(
  values: readonly (Value | null)[], lengthOf: (value: Value) => number, write: (value: Value, to: Buffer, offset: number, length: number) => void,
): Buffer {
  let bytes = HEADER_BYTES + 4 * values.length;
  for (const value of values) bytes += value === null ? 0 : lengthOf(value);
  const buffer = Buffer.allocUnsafe(bytes);
  let offset = header(buffer, OID.bytea, values.length);
  for (const value of values) {
    if (value === null) {
      offset = buffer.writeInt32BE(-1, offset);
      continue;
    }
    const length = lengthOf(value);
    offset = buffer.writeInt32BE(length, offset);
    write(value, buffer, offset, length);
    offset += length;
  }
  return buffer.subarray(0, offset);
}

/**
 * SQL: a row for each place of the arrays `$first` and following; `columns` has the name and type of each. Unlike `select * from unnest(…)`, it
 * copies no array into a tuplestore of its own, which is a third less work.
 */
export function rowsFrom(first: number, columns: string): string {
  const items = columns.split(',').map((column, place) => {
    const [name, type] = column.trim().split(' ');
    return `unnest($${first + place}::${type}[]) as ${name}`;
  });
  return `(select ${items.join(', ')})`;
}

/** `numeric[]` of exact integers: bigint, decimal digits, or the word NULL. */
export function numericArray(values: readonly (bigint | string)[]): string {
  return `{${values.join()}}`;
}

/** `boolean[]`. */
export function booleanArray(values: readonly boolean[]): string {
  return `{${values.join()}}`;
}

/**
 * `text[]`; null stays null. Postgres' text cannot contain U+0000, so it becomes U+FFFD; otherwise a question could
 * stop a projection.
 */
export function textArray(values: readonly (string | null)[]): string {
  const items = values.map((value) => value === null
    ? 'NULL'
    : `"${value.replaceAll('\0', '\uFFFD').replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`);
  return `{${items.join()}}`;
}

function header(buffer: Buffer, elementOid: number, length: number): number {
  let offset = buffer.writeInt32BE(length === 0 ? 0 : 1, 0);
  offset = buffer.writeInt32BE(1, offset);
  offset = buffer.writeInt32BE(elementOid, offset);
  // An empty array has no dimensions.
  if (length === 0) return offset;
  offset = buffer.writeInt32BE(length, offset);
  return buffer.writeInt32BE(1, offset);
}
