/** How much fits into one append: for writers that have more records waiting than one append takes. */
import { MAX_APPEND_BYTES, MAX_APPEND_RECORDS, type NewRecord } from './log.js';

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
