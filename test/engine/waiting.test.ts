/** Pauses, retries, waits that end with a signal, and bells: what they resolve to, and that nothing is left behind. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { backoffMs, createBell, orAborted, pause, retrying, within, type RetryOptions } from '../../engine/waiting.js';

/** Longer than a test may take: what waits so long does not end by itself. */
const FOREVER_MS = 3_600_000;
const never = new Promise<never>(() => undefined);
const reason = new Error('the reason');
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

/** How many timers run, once mocha has started its own for the test. */
async function timers(): Promise<number> {
  await new Promise(setImmediate);
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

describe('engine: a pause', () => {
  it('takes its time', async () => {
    const started = performance.now();
    await pause(20);
    assert.ok(performance.now() - started >= 19);
  });

  it('ends when its signal aborts, without an error', async () => {
    const stopping = new AbortController();
    const paused = pause(FOREVER_MS, stopping.signal);
    stopping.abort(reason);
    await paused;
    await pause(FOREVER_MS, stopping.signal);
    assert.equal(listeners(stopping.signal), 0);
  });

  it('leaves no listener on the signal', async () => {
    const { signal } = new AbortController();
    await pause(0, signal);
    assert.equal(listeners(signal), 0);
  });
});

describe('engine: back-off', () => {
  it('doubles with each failure in a row, up to the longest pause', () => {
    const backoff = { firstMs: 100, longestMs: 1_000 };
    assert.deepEqual([1, 2, 3, 4, 5, 6, 100, 1e9].map((failures) => backoffMs(failures, backoff)), [100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000]);
    assert.equal(backoffMs(1, { firstMs: 100, longestMs: 50 }), 50);
  });

  it('varies by up to a half', () => {
    const pauses = (random: number) => [1, 2, 1_000].map((failures) => backoffMs(failures, { firstMs: 8, longestMs: 40, random: () => random }));
    assert.deepEqual([pauses(0), pauses(0.5), pauses(0.75)], [[4, 8, 20], [8, 16, 40], [10, 20, 50]]);
  });
});

describe('engine: retrying', () => {
  let stopping: AbortController;
  let told: [error: unknown, failures: number][];
  let options: RetryOptions;
  beforeEach(() => {
    [stopping, told] = [new AbortController(), []];
    options = {
      backoff: { firstMs: 1, longestMs: 2 }, signal: stopping.signal, canPass: (error) => error !== reason,
      failed: (error, failures) => { told.push([error, failures]); },
    };
  });

  it('does the work until it succeeds, and tells of each failure', async () => {
    const errors = [new Error('first'), new Error('second')];
    const left = [...errors];
    assert.equal(await retrying(async () => {
      const error = left.shift();
      if (error !== undefined) throw error;
      return 'done';
    }, options), 'done');
    assert.deepEqual(told, [[errors[0], 1], [errors[1], 2]]);
    assert.equal(listeners(stopping.signal), 0);
  });

  it('ends with an error that cannot pass', async () => {
    await assert.rejects(retrying(() => Promise.reject(reason), options), reason);
    assert.deepEqual(told, []);
  });

  it('does no work when the signal has aborted', async () => {
    stopping.abort(reason);
    let works = 0;
    await assert.rejects(retrying(async () => { works += 1; }, options), reason);
    assert.equal(works, 0);
  });

  it('ends with the signal\'s reason when it aborts in a pause', async () => {
    const works = retrying(() => Promise.reject(new Error('passes')), {
      ...options, backoff: { firstMs: FOREVER_MS, longestMs: FOREVER_MS }, failed: () => { setImmediate(() => { stopping.abort(reason); }); },
    });
    await assert.rejects(works, reason);
  });

  it('ends with the work\'s error when the signal aborts while it works', async () => {
    const broken = new Error('broken off');
    await assert.rejects(retrying(() => {
      stopping.abort(reason);
      return Promise.reject(broken);
    }, options), broken);
    assert.deepEqual(told, []);
  });
});

describe('engine: work or an abort', () => {
  it('ends as the work does', async () => {
    const { signal } = new AbortController();
    assert.equal(await orAborted(Promise.resolve(7), signal), 7);
    await assert.rejects(orAborted(Promise.reject(reason), signal), reason);
    assert.equal(listeners(signal), 0);
  });

  it('ends with the signal\'s reason as soon as it aborts, or when it has aborted', async () => {
    const stopping = new AbortController();
    const waiting = orAborted(never, stopping.signal);
    stopping.abort(reason);
    await assert.rejects(waiting, reason);
    await assert.rejects(orAborted(never, stopping.signal), reason);
  });

  it('drops the error of work that fails after the abort', async () => {
    const stopping = new AbortController();
    let fail: (error: Error) => void = () => undefined;
    const waiting = orAborted(new Promise((_, reject) => { fail = reject; }), stopping.signal);
    stopping.abort(reason);
    fail(new Error('too late'));
    await assert.rejects(waiting, reason);
    // An error that nobody handles ends the test run: it is reported before the next turn of the event loop.
    await new Promise(setImmediate);
  });
});

describe('engine: work within a time', () => {
  it('ends as the work does, and leaves no timer', async () => {
    const before = await timers();
    assert.equal(await within(Promise.resolve(7), FOREVER_MS), 7);
    await assert.rejects(within(Promise.reject(reason), FOREVER_MS), reason);
    assert.equal(await timers(), before);
  });

  it('is undefined when the time is over first', async () => {
    assert.equal(await within(never, 1), undefined);
  });

  it('drops the error of work that fails later', async () => {
    let fail: (error: Error) => void = () => undefined;
    assert.equal(await within(new Promise((_, reject) => { fail = reject; }), 1), undefined);
    fail(new Error('too late'));
    await new Promise(setImmediate);
  });
});

describe('engine: a bell', () => {
  const { signal } = new AbortController();

  it('wakes all who wait, and counts', async () => {
    const bell = createBell();
    const before = await timers();
    const waiting = [bell.wait(signal, FOREVER_MS), bell.wait(signal, FOREVER_MS)];
    assert.equal(bell.rung(), 0);
    bell.ring();
    assert.deepEqual(await Promise.all(waiting), ['rung', 'rung']);
    assert.equal(bell.rung(), 1);
    assert.deepEqual([listeners(signal), await timers()], [0, before]);
  });

  it('wakes nobody who waits after the ring; the count tells of it', async () => {
    const bell = createBell();
    const before = bell.rung();
    bell.ring();
    assert.equal(await bell.wait(signal, 1), 'timeout');
    assert.equal(bell.rung(), before + 1);
    const again = bell.wait(signal, FOREVER_MS).then(() => bell.wait(signal, 1));
    bell.ring();
    assert.equal(await again, 'timeout', 'one ring, one waking');
  });

  it('lets go of those who wait when their signal aborts, or has aborted', async () => {
    const bell = createBell();
    const stopping = new AbortController();
    const waiting = [bell.wait(stopping.signal, FOREVER_MS), bell.wait(signal, FOREVER_MS)];
    stopping.abort();
    assert.equal(await waiting[0], 'aborted');
    assert.equal(await bell.wait(stopping.signal, FOREVER_MS), 'aborted');
    bell.ring();
    assert.equal(await waiting[1], 'rung');
    assert.deepEqual([listeners(stopping.signal), listeners(signal)], [0, 0]);
  });

  it('has one listener per signal, however many wait: more than ten would be reported as a leak', async () => {
    const bell = createBell();
    const stopping = new AbortController();
    const waiting = Array.from({ length: 50 }, (_, i) => bell.wait(i % 2 === 0 ? stopping.signal : signal, FOREVER_MS));
    assert.deepEqual([listeners(stopping.signal), listeners(signal)], [1, 1]);
    stopping.abort();
    await waiting[0];
    assert.deepEqual([listeners(stopping.signal), listeners(signal)], [0, 1]);
    bell.ring();
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['aborted', 'rung']));
    assert.equal(listeners(signal), 0);
  });
});
