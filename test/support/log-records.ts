/** Records for the log's tests. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { LogRecord, NewRecord } from '../../engine/log/log.js';

export function newRecord(data: Uint8Array = Buffer.from(`{"n":"${randomUUID()}"}`)): NewRecord {
  return { id: randomUUID(), data };
}

export function newRecords(count: number): NewRecord[] {
  return Array.from({ length: count }, () => newRecord());
}

/** The records as they read from position `first` on. */
export function placed(first: number, records: readonly NewRecord[]): LogRecord[] {
  return records.map(({ id, data }, i) => ({ position: first + i, id, data }));
}

/**
 * The next `count` records of a follower: exactly so many, or at least with `exactly: false`. With `pause` the consumer lets the
 * event loop turn after every batch.
 */
export async function take(
  batches: AsyncIterable<readonly LogRecord[]>, count: number, { exactly = true, pause = false } = {},
): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const batch of batches) {
    records.push(...batch);
    if (records.length >= count) break;
    if (pause) await new Promise(setImmediate);
  }
  if (exactly) assert.equal(records.length, count);
  return records;
}
