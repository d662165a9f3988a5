/**
 * Reads pages of the log as a binary COPY: node-postgres decodes every column as text, which would cost two bytes and a
 * conversion for each byte of data, but hands on the chunks of a COPY as they come.
 */
import pg from 'pg';
import { BrokenSequence, type LogRecord, type Stream } from '../log.js';
import { decodeCopy } from './binary.js';
import { copyPage, STREAM_NUMBERS } from './schema.js';

const PAGE_BYTES = 4 * 1024 * 1024;

/** Up to `limit` records from `from` on, or about 4 MB of them; empty at the end. Throws BrokenSequence at a gap. */
export async function readPage(pool: pg.Pool, stream: Stream, from: number, limit: number): Promise<LogRecord[]> {
  if (limit <= 0) return [];
  const client = await pool.connect();
  let bytes: Buffer;
  try {
    bytes = await copyOut(client, copyPage({ stream: STREAM_NUMBERS[stream], from, limit, maxBytes: PAGE_BYTES }));
  } catch (error) {
    client.release(true);
    throw error;
  }
  client.release();
  const records = decodeCopy(bytes);
  for (let i = 0; i < records.length; i++) {
    if (records[i]!.position !== from + i) throw new BrokenSequence(stream, from + i, records[i]!.position);
  }
  return records;
}

/** All that a `copy … to stdout` sends. */
function copyOut(client: pg.PoolClient, sql: string): Promise<Buffer> {
  let bytes = Buffer.allocUnsafe(4096);
  let used = 0;
  return new Promise((resolve, reject) => {
    const query = new pg.Query(sql, (error: Error | null | undefined) => {
      if (error) reject(error);
      else resolve(bytes.subarray(0, used));
    });
    // The chunk is a view of the socket's buffer, which is reused.
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
