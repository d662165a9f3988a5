/** The clock of a process at its start and at work: which times it gives out, and when it doubts them. */
import assert from 'node:assert/strict';
import { ClockDiffers, startClock, type DatabaseTime, type ProcessClock } from '../../service/machine/clock.js';

const NOW_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;

/** A clock on a machine whose clocks the test sets. Times are in milliseconds after the start. */
function scene() {
  const set = {
    passedMs: 0, wallAheadMs: 0, databaseAheadMs: 0, databaseAnswers: true, historyMs: undefined as number | undefined,
    passPerAskMs: 0, bootReads: 0,
  };
  const lines: string[] = [];
  const ask = (): Promise<DatabaseTime | undefined> => {
    set.passedMs += set.passPerAskMs;
    return Promise.resolve(set.databaseAnswers
      ? { databaseMs: NOW_MS + set.passedMs + set.databaseAheadMs, monotonicMs: set.passedMs }
      : undefined);
  };
  const boot = (): number => { set.bootReads++; return set.passedMs; };
  const start = async (signal?: AbortSignal): Promise<ProcessClock> => {
    const clock = await startClock({
      clocks: { wall: () => NOW_MS + set.passedMs + set.wallAheadMs, monotonic: () => set.passedMs, boot },
      bounds: { maxJumpMs: 10_000, acceptAfterMs: 600_000 }, ask, ...signal && { signal },
      report: (level, _, message) => { lines.push(`${level} ${message.split(':')[0]}`); },
    });
    if (set.historyMs !== undefined) clock.compareWith({ time: set.historyMs });
    return clock;
  };
  return { set, lines, start };
}

describe('service: the clock of a process', () => {
  describe('at the start', () => {
    for (const [what, aheadMs, how] of [['ahead of', 100 * DAY_MS, '100 days ahead of'], ['behind', -3_600_000, '1 h behind']] as const) {
      it(`refuses to start ${what} the database, after it has waited for NTP`, async () => {
        const { set, start, lines } = scene();
        Object.assign(set, { wallAheadMs: aheadMs, passPerAskMs: 40_000 });
        await assert.rejects(start(), (error: Error) => error instanceof ClockDiffers && error.message.startsWith(
          `the clock of this machine is ${how} the database's clock (`) && error.message.endsWith('): set the wrong one right, then start again'));
        assert.deepEqual(lines.map((line) => line.split(' (')[0]), [`error the clock of this machine is ${how} the database's clock`]);
      });
    }

    it('waits for a database that does not answer, however long, until the start is ended', async () => {
      const { set, start } = scene();
      Object.assign(set, { databaseAnswers: false, passPerAskMs: 40_000 });
      const ending = new AbortController();
      const started = start(ending.signal);
      while (set.passedMs < 80_000) await new Promise((resolve) => setTimeout(resolve, 20));
      ending.abort(new Error('the process stops'));
      await assert.rejects(started, /^Error: the process stops$/);
    });

    it('starts on an old history, and on an empty one', async () => {
      for (const historyMs of [NOW_MS - 7 * DAY_MS, 0, undefined]) {
        const { set, start } = scene();
        set.historyMs = historyMs;
        assert.equal((await start()).doubt(), undefined);
      }
    });

    it('starts on a history that is ahead, says so once, and takes no orders until the clock has passed it', async () => {
      const { set, start, lines } = scene();
      set.historyMs = NOW_MS + 60_000;
      const clock = await start();
      await clock.look();
      await clock.look();
      assert.match(clock.doubt()!, /^the history is already 1 min ahead of the clock/);
      assert.deepEqual(lines, ['error the history is ahead of the clock']);
      set.passedMs = 40_000;
      await clock.look();
      assert.equal(clock.doubt(), undefined, 'the difference is within what two processes may differ by');
    });
  });

  it('gives whole milliseconds that never go back', async () => {
    const { set, start } = scene();
    const clock = await start();
    const given: number[] = [];
    for (const wallAheadMs of [0, 9_000.7, -9_000, -100_000, 100_000]) {
      Object.assign(set, { wallAheadMs, passedMs: set.passedMs + 100.4 });
      await clock.look();
      given.push(clock.now() - NOW_MS);
    }
    assert.ok(given.every((ms, i) => Number.isInteger(ms) && ms >= (given[i - 1] ?? 0)), given.join());
    assert.ok(Math.abs(given.at(-1)! - 502) < 30, given.join());
  });

  it('does not read the boot clock for an order, which would be a file read for each', async () => {
    const { set, start } = scene();
    const clock = await start();
    const atStart = set.bootReads;
    for (let order = 0; order < 100; order++) {
      set.passedMs += 10;
      assert.equal(clock.doubt(), undefined);
      clock.now();
    }
    assert.deepEqual([atStart, set.bootReads], [1, 1]);
  });

  it('doubts a jump at once, before the next look, and tells each turn once', async () => {
    const { set, start, lines } = scene();
    const clock = await start();
    set.wallAheadMs = DAY_MS;
    assert.equal(clock.doubt(), 'the clock of this machine has jumped 1 day ahead; the jump is refused');
    await clock.look();
    const { trusted, wallAheadMs, time } = clock.state();
    assert.deepEqual([trusted, wallAheadMs, time], [false, DAY_MS, new Date(NOW_MS).toISOString()]);
    set.wallAheadMs = 0;
    assert.equal(clock.doubt(), undefined);
    await clock.look();
    assert.deepEqual(lines, ['error the clock of this machine has jumped', 'info the clock of this machine agrees with the trusted time again']);
  });

  it('is never further ahead than the database confirms: without its word, the time stands and is doubted', async () => {
    const { set, start } = scene();
    const clock = await start();
    set.databaseAnswers = false;
    set.passedMs = 14_000;
    await clock.look();
    assert.deepEqual([clock.now() - NOW_MS, clock.doubt()], [14_000, undefined]);
    set.passedMs = 100 * DAY_MS;
    await clock.look();
    assert.deepEqual([clock.now() - NOW_MS, clock.doubt()], [25_000, 'the database has not confirmed the time for 100 days']);
    set.databaseAnswers = true;
    await clock.look();
    assert.deepEqual([clock.now() - NOW_MS, clock.doubt()], [100 * DAY_MS, undefined]);
  });

  it('doubts a database whose clock is set to another time', async () => {
    const { set, start } = scene();
    const clock = await start();
    set.databaseAheadMs = -DAY_MS;
    await clock.look();
    assert.equal(clock.doubt(), 'the database\'s clock is 1 day behind this process');
  });
});
