/** Figures of a comparison, and counts. */
import { deepEqual, equal } from 'node:assert/strict';
import { changes, countsPerUnit, perUnit } from './figures.js';
import type { Usage } from './usage.js';

const usage = (changed: Partial<Usage>): Usage => ({
  threads: { main: 0 }, postgresNs: 0, waits: { main: 0, postgres: 0 }, reads: 0, writes: 0, statements: 0, rows: 0, walBytes: 0, ...changed,
});

describe('the figures of a comparison', () => {
  it('are per order, the busiest threads one by one, also those that began meanwhile', () => {
    const before = usage({ threads: { main: 1_000, 7: 5_000, 8: 0 }, walBytes: 100 });
    const threads = { main: 21_000, 7: 6_000, 8: 4_000, 9: 2_000, 10: 8_000, 11: 10_000 };
    const after = usage({ threads, walBytes: 400, postgresNs: 2_000, waits: { main: 6_000, postgres: 0 }, statements: 5 });
    deepEqual(perUnit(before, after, 2), {
      'main thread, µs': 10, 'thread 2, µs': 5, 'thread 3, µs': 4, 'thread 4, µs': 2, 'other threads, µs': 1.5, 'Postgres, µs': 1,
      'main thread waits, µs': 3, 'Postgres waits, µs': 0, 'statements': 2.5, 'WAL, bytes': 150, 'read calls': 0, 'write calls': 0,
    });
  });

  it('change by the median of the paired differences, between their quartiles', () => {
    const rates = [[100, 90], [200, 220], [100, 105], [50, 60], [10, 10]] as const;
    const pairs = rates.map(([before, after]) => [{ rate: before }, { rate: after, new: 1 }] as const);
    const [change, ...others] = changes(pairs);
    deepEqual(others, []);
    deepEqual({ ...change!, median: Number(change!.median.toFixed(9)), to: Number(change!.to.toFixed(9)) }, {
      name: 'rate', before: 100, after: 90, median: 0.05, from: 0, to: 0.1,
    });
  });

  it('do not change where both are 0', () => {
    equal(changes([[{ statements: 0 }, { statements: 0 }]])[0]!.median, 0);
  });
});

describe('the counts of an order', () => {
  it('leave out what happens without orders, too', () => {
    const readings = {
      before: { usage: usage({ reads: 100, statements: 10 }), ms: 1_000 },
      after: { usage: usage({ reads: 400, statements: 30 }), ms: 3_000 },
      idle: { usage: usage({ reads: 450, statements: 30 }), ms: 4_000 },
    };
    deepEqual(countsPerUnit(readings, 10), { statements: 2, rows: 0, walBytes: 0, reads: 20, writes: 0 });
  });
});
