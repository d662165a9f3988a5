/**
 * Records on their way to and from Postgres: attempts to append a batch, over a connection for that stream only, and
 * pages that are read by a binary COPY.
 *
 * Both are in Postgres' binary formats: hex text, which node-postgres would use, costs several times as much, and every
 * column that it decodes costs two bytes and a conversion per byte of data, while it passes the chunks of a COPY on
 * unchanged. Arrays: dimensions, has-nulls flag, element type, then length and lower bound of the one dimension, then
 * each element after its length, all in big-endian 32-bit integers (array_send in Postgres' arrayfuncs.c). COPY:
 * "Binary Format" in Postgres' documentation of COPY.
 */
import pg from 'pg';
import { AttemptFailed, LOST, TAKEN, type AppendAttempt, type Attempted } from '../appender.js';
import { BrokenSequence, type LogRecord, type NewRecord, type Stream } from '../log.js';
import { canPass, isDiskFull, isStatementError, soleRow, type Connection } from './connection.js';
import { APPEND_BATCH, STREAM_NUMBERS, copyPage } from './schema.js';

/** Encodes a batch once and returns its attempt. An attempt without an answer drops the connection. */
export function attemptsOf(stream: Stream, connection: Connection, records: readonly NewRecord[]): AppendAttempt {
  const batch = [STREAM_NUMBERS[stream], encodeIds(records), encodeData(records)];

  return async ({ at, exactly, timeoutMs, newest }) => {
    let sent = false;
    try {
      const client = await connection.get();
      sent = true;
      const values = [...batch, at, exactly, newest?.position ?? null, newest?.id ?? null];
      const query = { name: 'log_append', text: APPEND_BATCH, values, rowMode: 'array' as const, query_timeout: timeoutMs };
      const { rows } = await client.query<Row>(query);
      return answerOf(soleRow(rows));
    } catch (error) {
      // A statement error rolls back the statement and leaves the connection usable.
      const undone = isStatementError(error);
      if (!undone) connection.drop();
      // A full disk does not pass in the time for which a caller waits: the caller is told at once.
      throw new AttemptFailed(error, { maybeWritten: sent && !undone, canPass: canPass(error) && !isDiskFull(error) });
    }
  };
}

type Row = [first: string | null, length: string, written: boolean | null, lost: boolean | null];

function answerOf([first, length, written, lost]: Row): Attempted {
  return {
    first: lost === true ? LOST : first === null ? TAKEN : Number(first), length: Number(length),
    written: written === true,
  };
}

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

/**
 * The records in the output of `copy (select position, id, data …) to stdout (format binary)`. Their data are views of
 * `bytes`.
 */
export function decodeCopy(bytes: Buffer): LogRecord[] {
  const rows: { readonly position: number; readonly id: number; readonly data: Buffer }[] = [];
  // Layout: a signature of 11 bytes, flags, the length of an unused extension, the extension, the rows, a field count
  // of -1.
  let at = 19 + bytes.readInt32BE(15);
  while (bytes.readInt16BE(at) === 3) {
    const position = bytes.readUInt32BE(at + 6) * 2 ** 32 + bytes.readUInt32BE(at + 10);
    const length = bytes.readInt32BE(at + 34);
    rows.push({ position, id: at + 18, data: bytes.subarray(at + 38, at + 38 + length) });
    at += 38 + length;
  }
  const texts = idTexts(bytes, rows);
  return rows.map(({ position, data }, i) => ({ position, id: texts.slice(i * ID_LENGTH, (i + 1) * ID_LENGTH), data }));
}

const ID_LENGTH = 36;
const HEX = Buffer.from('0123456789abcdef', 'latin1');
/** Where the text of a UUID, with its dashes, has the digits of each of its bytes. */
const DIGITS_AT = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/**
 * The texts of the rows' ids one after the other, in one conversion for the whole page. An id that is kept keeps the
 * page's ids in memory, 36 bytes each.
 */
function idTexts(bytes: Buffer, rows: readonly { readonly id: number }[]): string {
  const texts = Buffer.alloc(rows.length * ID_LENGTH, '-', 'latin1');
  let start = 0;
  for (const { id } of rows) {
    for (let i = 0; i < DIGITS_AT.length; i++) {
      const byte = bytes[id + i] ?? 0;
      const at = start + (DIGITS_AT[i] ?? 0);
      texts[at] = HEX[byte >> 4] ?? 0;
      texts[at + 1] = HEX[byte & 15] ?? 0;
    }
    start += ID_LENGTH;
  }
  return texts.toString('latin1');
}

function writeHeader(buffer: Buffer, elementType: number, count: number): number {
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(0, 4);
  buffer.writeInt32BE(elementType, 8);
  buffer.writeInt32BE(count, 12);
  return buffer.writeInt32BE(1, 16);
}

const PAGE_BYTES = 4 * 1024 * 1024;

export interface PageRange {
  readonly from: number;
  readonly limit: number;
  /** Records before this position come without their data. Default: all come with them. */
  readonly dataFrom?: number;
}

/**
 * Records from `from` on, at most `limit` and about 4 MB; empty at the end of the stream. Throws BrokenSequence at a
 * gap.
 */
export async function readPage(pool: pg.Pool, stream: Stream, range: PageRange): Promise<LogRecord[]> {
  const { from, limit } = range;
  if (limit <= 0) return [];
  const client = await pool.connect();
  let bytes: Buffer;
  try {
    bytes = await copyOut(client, copyPage({ stream: STREAM_NUMBERS[stream], maxBytes: PAGE_BYTES, ...range }));
  } catch (error) {
    client.release(true);
    throw error;
  }
  client.release();
  const records = decodeCopy(bytes);
  for (const [i, { position }] of records.entries()) {
    if (position !== from + i) throw new BrokenSequence(stream, from + i, position);
  }
  return records;
}

/** All bytes that a `copy … to stdout` sends. */
function copyOut(client: pg.PoolClient, sql: string): Promise<Buffer> {
  let bytes = Buffer.allocUnsafe(4096);
  let used = 0;
  return new Promise((resolve, reject) => {
    const query = new pg.Query(sql, (error: Error | null | undefined) => {
      if (error) reject(error);
      else resolve(bytes.subarray(0, used));
    });
    // The chunk is a view of the socket's buffer, which node reuses: its bytes are copied.
    const handleCopyData = ({ chunk }: { chunk: Buffer }): void => {
      if (used + chunk.length > bytes.length) {
        const larger = Buffer.allocUnsafe(Math.max(used + chunk.length, bytes.length * 4));
        bytes.copy(larger, 0, 0, used);
        bytes = larger;
      }
      bytes.set(chunk, used);
      used += chunk.length;
    };
    client.query(Object.assign(query, { handleCopyData }));
  });
}
