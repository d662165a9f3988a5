/** Records for the log's tests. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { fittingRecords } from '../../engine/log/appender.js';
import { LogUnavailable, type Log, type LogRecord, type NewRecord, type Stream } from '../../engine/log/log.js';
import { until } from './until.js';

export function newRecord(data: Uint8Array = Buffer.from(`{"n":"${randomUUID()}"}`)): NewRecord {
  return { id: randomUUID(), data };
}

/** `bytes` of data in each; without it, a few. */
export function newRecords(count: number, bytes?: number): NewRecord[] {
  return Array.from({ length: count }, () => newRecord(bytes === undefined ? undefined : Buffer.alloc(bytes, 'x')));
}

/** Appends all records, in as few appends as the log takes; returns the first one's position. Nobody else may be writing. */
export async function appendAll(log: Pick<Log, 'append' | 'length'>, stream: Stream, records: readonly NewRecord[]): Promise<number> {
  const first = await log.length(stream);
  for (let rest = records; rest.length > 0;) {
    const count = fittingRecords(rest);
    await log.append(stream, rest.slice(0, count), first + records.length - rest.length);
    rest = rest.slice(count);
  }
  return first;
}

/** Appends all records wherever the stream ends, in as few appends as the log takes, while others may be writing. */
export async function appendAnywhere(log: Pick<Log, 'append'>, stream: Stream, records: readonly NewRecord[]): Promise<void> {
  for (let rest = records; rest.length > 0;) {
    const count = fittingRecords(rest);
    await log.append(stream, rest.slice(0, count));
    rest = rest.slice(count);
  }
}

/** Appends until the handle gets an answer, whatever becomes of its attempts. */
export async function untilAnswered(what: string, append: () => Promise<number>): Promise<number> {
  return await until(what, async () => {
    try {
      return await append();
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
      return undefined;
    }
  });
}

/** What a stream has from position `from` on, read in pages until an empty one. */
export async function readAll(log: Pick<Log, 'read'>, stream: Stream, from = 0): Promise<LogRecord[]> {
  const all: LogRecord[] = [];
  for (;;) {
    const page = await log.read(stream, from + all.length, 3_000);
    if (page.length === 0) return all;
    all.push(...page);
  }
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
