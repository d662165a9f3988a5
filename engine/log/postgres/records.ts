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
  const records: LogRecord[] = [];
  // Layout: a signature of 11 bytes, flags, the length of an unused extension, the extension, the rows, a field count
  // of -1.
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
