/** How much goes into one append. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { checkAppend, fittingRecords } from '../../engine/log/appender.js';
import { MAX_APPEND_BYTES, MAX_APPEND_RECORDS, MAX_RECORD_BYTES } from '../../engine/log/log.js';
import { newRecord } from '../support/log-records.js';

/** All records share these bytes: 1,100 records of up to a megabyte each would take half a second to fill with zeros, for every case. */
const ZEROS = Buffer.alloc(MAX_APPEND_BYTES);
const ofBytes = (...sizes: number[]) => sizes.map((bytes) => newRecord(ZEROS.subarray(0, bytes)));

describe('the records of one append', () => {
  it('are none of none', () => { assert.equal(fittingRecords([]), 0); });

  it('are as many as are allowed, by number or by bytes; a larger first one goes alone', () => {
    const size = { maxRecords: 3, maxBytes: 100 };
    const rows: readonly [number[], number][] = [
      [[1], 1], [[1, 1, 1], 3], [[1, 1, 1, 1], 3], [[50, 50], 2], [[50, 50, 0], 3], [[50, 51], 1], [[100, 1], 1], [[500, 1], 1], [[1, 500], 1],
    ];
    for (const [sizes, count] of rows) assert.equal(fittingRecords(ofBytes(...sizes), size), count, sizes.join());
  });

  it('are what the log takes, and one more is not', () => {
    const bytes = fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 300_000, max: MAX_RECORD_BYTES }));
    fc.assert(fc.property(fc.array(bytes, { minLength: 1, maxLength: 1_100, size: 'max' }), (sizes) => {
      const records = ofBytes(...sizes);
      const count = fittingRecords(records);
      checkAppend(records.slice(0, count), undefined);
      if (count < records.length) assert.throws(() => { checkAppend(records.slice(0, count + 1), undefined); });
    }), { numRuns: 30 });
    assert.equal(fittingRecords(ofBytes(...new Array<number>(MAX_APPEND_RECORDS + 1).fill(0))), MAX_APPEND_RECORDS);
    assert.equal(fittingRecords(ofBytes(MAX_APPEND_BYTES, 1)), 1);
  });
});
