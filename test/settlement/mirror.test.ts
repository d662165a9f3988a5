/** The window of a chain's unsettled fills in memory, over random histories: it is a part of the whole without gaps, and bounded. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import fc from 'fast-check';
import { createMirror } from '../../command/settlement/intake/mirror.js';
import { unsettledFill } from '../support/settlement-fills.js';

const numbers = (fills: Iterable<{ readonly fill: number }>) => [...fills].map(({ fill }) => fill);
const ofChain = (fill: number) => ({ ...unsettledFill(fill), chainId: fill % 3 === 0 ? 2 : 1 });

describe('settlement: the window of fills in memory', () => {
  it('has the lowest unsettled fills of its chain, all below the number it tells, whatever comes and ends', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('pass' as const), n: fc.integer({ min: 1, max: 25 }) }),
      fc.record({ kind: fc.constant('end' as const), n: fc.nat(40) }),
    );
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 2, max: 12 }), (steps, windowFills) => {
      let watermark = 0;
      const waiting = new Set<number>();
      const mirror = createMirror(1, 0, windowFills);
      const fill = (): void => {
        for (let wanted = mirror.wants(); wanted !== undefined; wanted = mirror.wants()) {
          const { from, limit } = wanted;
          mirror.read([...waiting].filter((each) => each >= from && each % 3 !== 0).slice(0, limit).map(ofChain), wanted);
        }
      };
      let told = 0;
      fill();
      for (const { kind, n } of steps) {
        if (kind === 'pass') {
          const passed = Array.from({ length: n }, (_, i) => watermark + i);
          for (const each of passed) waiting.add(each);
          watermark += n;
          mirror.passed(passed.map(ofChain), watermark);
        } else {
          const ended = [...waiting][n];
          if (ended !== undefined) waiting.delete(ended);
          mirror.ended(ended ?? -1);
        }
        fill();
        const mine = [...waiting].filter((each) => each % 3 !== 0);
        deepEqual(numbers(mirror.unsettled(0)), mine.filter((each) => each < mirror.nextFill));
        ok(numbers(mirror.unsettled(0)).length <= windowFills);
        ok(mirror.nextFill >= told && mirror.nextFill <= watermark);
        ok(mirror.nextFill === watermark || numbers(mirror.unsettled(0)).length >= windowFills / 2, 'it lacks fills that it has room for');
        told = mirror.nextFill;
        deepEqual(numbers(mirror.unsettled(watermark >> 1)), mine.filter((each) => each >= watermark >> 1 && each < told));
      }
    }), { numRuns: 300 });
  });

  it('starts with what Postgres has, and takes what comes only when it has all before', () => {
    const mirror = createMirror(1, 9, 4);
    deepEqual([mirror.nextFill, mirror.wants()], [0, { from: 0, limit: 4 }]);
    mirror.read([1, 4, 5, 7].map(unsettledFill), { from: 0, limit: 4 });
    deepEqual([mirror.nextFill, mirror.wants(), numbers(mirror.unsettled(0))], [8, undefined, [1, 4, 5, 7]]);
    mirror.passed([unsettledFill(9)], 10);
    mirror.ended(1);
    mirror.ended(4);
    deepEqual([mirror.nextFill, mirror.wants()], [8, undefined]);
    mirror.ended(5);
    deepEqual(mirror.wants(), { from: 8, limit: 3 });
    mirror.read([8, 9].map(unsettledFill), { from: 8, limit: 3 });
    deepEqual([mirror.nextFill, numbers(mirror.unsettled(0))], [10, [7, 8, 9]]);
    mirror.passed([unsettledFill(10)], 11);
    equal(mirror.nextFill, 11);
  });
});
