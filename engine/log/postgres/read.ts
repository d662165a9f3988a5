/**
 * Reads pages of the log as a binary COPY. node-postgres decodes every column as text, which costs two bytes and a conversion per byte
 * of data, but passes the chunks of a COPY on unchanged.
 */
import pg from 'pg';
import { BrokenSequence, type LogRecord, type Stream } from '../log.js';
import { decodeCopy } from './binary.js';
import { copyPage, STREAM_NUMBERS } from './schema.js';

const PAGE_BYTES = 4 * 1024 * 1024;

export interface PageRange {
  readonly from: number;
  readonly limit: number;
  /** Records before this position come without their data. Default: all come with them. */
  readonly dataFrom?: number;
}

/** Records from `from` on, at most `limit` and about 4 MB; empty at the end of the stream. Throws BrokenSequence at a gap. */
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
