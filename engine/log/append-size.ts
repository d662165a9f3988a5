/** How much goes into one append: for writers that have more waiting than the log takes at once. */
import { MAX_APPEND_BYTES, MAX_APPEND_RECORDS, type NewRecord } from './log.js';

export interface AppendSize {
  readonly maxRecords: number;
  readonly maxBytes: number;
}

/** What the log takes at most. */
export const LARGEST_APPEND: AppendSize = { maxRecords: MAX_APPEND_RECORDS, maxBytes: MAX_APPEND_BYTES };

/** How many of the records, from the first one on, fit into one append. A first one that is larger than `maxBytes` goes alone. */
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
