/** The checks that every adapter makes before it appends: a malformed batch is refused, and nothing is written. */
import {
  InvalidAppend, MAX_APPEND_BYTES, MAX_APPEND_RECORDS, MAX_RECORD_BYTES, RecordTooLarge, type NewRecord,
} from './log.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Throws InvalidAppend or RecordTooLarge unless the record can be appended. */
export function checkRecord(record: NewRecord): void {
  if (typeof record.id !== 'string' || !UUID.test(record.id)) {
    throw new InvalidAppend(`a record's id is a UUID in lower case, not ${JSON.stringify(record.id)}`);
  }
  if (!(record.data instanceof Uint8Array)) throw new InvalidAppend('a record\'s data is a Uint8Array');
  if (record.data.length > MAX_RECORD_BYTES) throw new RecordTooLarge(record.data.length);
}

/** Throws InvalidAppend or RecordTooLarge unless the batch can be appended as one. */
export function checkAppend(records: readonly NewRecord[], expected: number | undefined): void {
  if (records.length === 0) throw new InvalidAppend('the batch is empty');
  if (records.length > MAX_APPEND_RECORDS) {
    throw new InvalidAppend(`the batch has ${records.length} records; split it: one append takes at most ${MAX_APPEND_RECORDS}`);
  }
  if (expected !== undefined && !isPosition(expected)) throw new InvalidAppend(`${expected} is not a position`);
  let bytes = 0;
  for (const record of records) {
    checkRecord(record);
    bytes += record.data.length;
  }
  if (bytes > MAX_APPEND_BYTES) throw new InvalidAppend(`the batch has ${bytes} bytes; split it: one append takes at most ${MAX_APPEND_BYTES}`);
}

/** Throws RangeError unless `from` is a log position: an integer from 0. */
export function checkPosition(from: number): void {
  if (!isPosition(from)) throw new RangeError(`a log position is an integer from 0, not ${from}`);
}

function isPosition(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

export interface AppendSize {
  readonly maxRecords: number;
  readonly maxBytes: number;
}

/** The largest append that the log takes. */
export const LARGEST_APPEND: AppendSize = { maxRecords: MAX_APPEND_RECORDS, maxBytes: MAX_APPEND_BYTES };

/** How many of the records, counted from the first, fit into one append. A first record that is larger than `maxBytes` counts as 1. */
export function fittingRecords(records: Iterable<Pick<NewRecord, 'data'>>, { maxRecords, maxBytes }: AppendSize = LARGEST_APPEND): number {
  let count = 0;
  let bytes = 0;
  for (const { data } of records) {
    bytes += data.length;
    if (count > 0 && (count >= maxRecords || bytes > maxBytes)) break;
    count += 1;
  }
  return count;
}
