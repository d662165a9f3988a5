/** The trusted time: what it makes of drift, jumps, sleep and wrong clocks. Times are in seconds after the start in the tables. */
import assert from 'node:assert/strict';
import { clockDoubts, follow, spanText, timeAt, trustFrom, type ClockReading } from '../../service/machine/trusted-time.js';

const START_MS = 1_800_000_000_000;
const BOUNDS = { maxJumpMs: 10_000, acceptAfterMs: 600_000 };
const DAY_S = 86_400;

/** Readings in seconds: monotonic time passed, what the wall clock shows beyond that, what the database shows beyond that, and sleep. */
type Row = readonly [passedS: number, wallAheadS: number, databaseAheadS?: number | null, sleptS?: number];

function reading([passedS, wallAheadS, databaseAheadS = 0, sleptS = 0]: Row): ClockReading {
  const trueMs = START_MS + passedS * 1_000;
  return {
    wallMs: trueMs + wallAheadS * 1_000, monotonicMs: passedS * 1_000, bootMs: (passedS + sleptS) * 1_000,
    databaseMs: databaseAheadS === null ? undefined : trueMs + databaseAheadS * 1_000,
  };
}

/** The events of a run, and by how many seconds the trusted time is ahead of start plus monotonic time after each look. */
function run(rows: readonly Row[]) {
  let time = trustFrom(reading([0, 0]));
  return rows.map((row) => {
    const { time: next, event } = follow(time, reading(row), BOUNDS);
    time = next;
    return [Math.round(timeAt(time, row[0] * 1_000) - START_MS - row[0] * 1_000) / 1_000, event ?? 'quiet'];
  });
}

describe('service: the trusted time', () => {
  for (const [what, rows, expected] of [
    ['equal clocks', [[1, 0], [2, 0]], [[0, 'quiet'], [0, 'quiet']]],
    ['a drift ahead is followed by at most 5% of the time', [[1, 0.2], [2, 0.2], [10, 0.2]], [[0.05, 'quiet'], [0.1, 'quiet'], [0.2, 'quiet']]],
    ['a drift back is followed as slowly, so the time never goes back', [[1, -0.2], [2, -0.2], [10, -0.2]], [[-0.05, 'quiet'], [-0.1, 'quiet'], [-0.2, 'quiet']]],
    ['a jump of the bound is followed slowly', [[1, 10], [101, 10]], [[0.05, 'quiet'], [5.05, 'quiet']]],
    ['100 days ahead for 4 s are refused', [[1, 0], [2, 100 * DAY_S], [5, 100 * DAY_S], [6, 0]], [[0, 'quiet'], [0, 'refused'], [0, 'quiet'], [0, 'returned']]],
    ['also when the database has the same clock', [[2, 100 * DAY_S, 100 * DAY_S], [6, 0, 0]], [[0, 'refused'], [0, 'returned']]],
    ['a jump back is refused', [[1, -3_600], [2, -3_600], [3, 0]], [[0, 'refused'], [0, 'quiet'], [0, 'returned']]],
    ['another jump is told again', [[1, 60], [2, 60], [3, 600]], [[0, 'refused'], [0, 'quiet'], [0, 'refused']]],
    ['many steps within the bound are not followed past it', [[1, 9], [2, 18], [3, 27]], [[0.05, 'quiet'], [0.05, 'refused'], [0.05, 'quiet']]],
    ['sleep is taken over at once', [[1, 0], [2, 3_600, 3_600, 3_600], [3, 3_600, 3_600, 3_600]], [[0, 'quiet'], [3_600, 'slept'], [3_600, 'quiet']]],
    ['sleep is counted, and a jump on top of it is refused', [[1, 7_200, 3_600, 3_600], [2, 3_600, 3_600, 3_600]], [[3_600, 'refused'], [3_600, 'returned']]],
    ['a boot clock in whole seconds is not sleep', [[1, 0, 0, 0.9], [2, 0, 0, -0.9]], [[0, 'quiet'], [0, 'quiet']]],
    [
      'a pause that no clock counted is accepted when wall clock and database have agreed for the whole time',
      [[1, 900, 900], [600, 900, 900], [601, 900, 900], [602, 900, 900]], [[0, 'refused'], [0, 'quiet'], [900, 'accepted'], [900, 'quiet']],
    ],
    ['a jump back is accepted like that, too', [[1, -900, -900], [601, -900, -900]], [[0, 'refused'], [-900, 'accepted']]],
    [
      'a database that disagrees on the way starts the time anew',
      [[1, 900, 900], [300, 900, 0], [301, 900, 900], [700, 900, 900], [901, 900, 900]],
      [[0, 'refused'], [0, 'quiet'], [0, 'quiet'], [0, 'quiet'], [900, 'accepted']],
    ],
    ['nothing is accepted without the database', [[1, 900, null], [10_000, 900, null]], [[0, 'refused'], [0, 'quiet']]],
    ['nothing is accepted against the database', [[1, 900, 0], [10_000, 900, 0]], [[0, 'refused'], [0, 'quiet']]],
    [
      'a wall clock that jumps to and fro is not accepted',
      [[1, 900, 900], [400, 1_900, 1_900], [700, 1_900, 1_900], [1_000, 1_900, 1_900]], [[0, 'refused'], [0, 'refused'], [0, 'quiet'], [1_900, 'accepted']],
    ],
  ] as const satisfies readonly (readonly [string, readonly Row[], readonly (readonly [number, string])[]])[]) {
    it(what, () => { assert.deepEqual(run(rows), expected); });
  }

  it('goes on by the boot clock when the monotonic clock jumps with the wall clock', () => {
    const far = 100 * DAY_S * 1_000;
    let time = trustFrom(reading([0, 0]));
    const look = ({ monotonicMs, ...others }: ClockReading, jumpMs: number) => {
      const { time: next, event } = follow(time, { ...others, monotonicMs: monotonicMs + jumpMs }, BOUNDS);
      time = next;
      return [timeAt(time, monotonicMs + jumpMs) - START_MS, event];
    };
    assert.deepEqual(look(reading([1, 100 * DAY_S]), far), [1_000, 'refused']);
    assert.deepEqual(look(reading([2, 100 * DAY_S]), far), [2_000, undefined]);
    assert.deepEqual(look(reading([3, 0]), 0), [3_000, 'returned']);
  });

  it('never goes backwards while it follows a clock, whatever that shows within the bound', () => {
    let time = trustFrom(reading([0, 0]));
    let latestMs = START_MS;
    for (let i = 1; i <= 1_000; i++) {
      time = follow(time, reading([i / 10, 9 * Math.sin(i)]), BOUNDS).time;
      const nowMs = timeAt(time, i * 100);
      assert.ok(nowMs > latestMs, `look ${i}`);
      latestMs = nowMs;
    }
  });

  for (const [what, [wallAheadS, databaseAheadS, historyAheadS], doubts] of [
    ['agreeing clocks', [0.2, -0.3, 0], []],
    ['an old history', [0, 0, -7 * DAY_S], []],
    ['an empty history, and a database that is not known', [0, null, null], []],
    ['all at the bound; the history may have been written by a process at the other end of it', [10, -10, 20], []],
    ['a jump', [100 * DAY_S, 0, 0], ['the clock of this machine has jumped 100 days ahead; the jump is refused']],
    ['a jump back', [-90, 0, 0], ['the clock of this machine has jumped 1.5 min back; the jump is refused']],
    ['a database ahead', [0, 11, 0], ['the database\'s clock is 11 s ahead of this process']],
    ['a database behind', [0, -7_200, 0], ['the database\'s clock is 2 h behind this process']],
    ['a history ahead', [0, 0, 100 * DAY_S], ['the history is already 100 days ahead of the clock: the clock is behind, or a wrong clock once wrote to the history']],
  ] as const) {
    it(`doubts: ${what}`, () => {
      const ms = (seconds: number | null): number | null => seconds === null ? null : seconds * 1_000;
      const differences = { wallAheadMs: wallAheadS * 1_000, databaseAheadMs: ms(databaseAheadS), historyAheadMs: ms(historyAheadS) };
      assert.deepEqual(clockDoubts(differences, BOUNDS), doubts);
    });
  }

  it('lengths of time are told in a fitting unit', () => {
    assert.deepEqual([400, 1_000, -90_000, 5_400_000, 86_400_000, 8_640_000_000].map(spanText), ['0.4 s', '1 s', '1.5 min', '1.5 h', '1 day', '100 days']);
  });
});
