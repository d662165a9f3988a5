/** What fails again and again is told at once, then ever more rarely with a count, and once that it is over. */
import assert from 'node:assert/strict';
import { createLogger, reportTo } from '../../service/logger.js';
import { createRecurring } from '../../service/recurring.js';

function scene() {
  const lines: unknown[] = [];
  const timers: { readonly atMs: number; readonly run: () => void }[] = [];
  let nowMs = 1_000;
  const failed = createRecurring({
    what: 'read models', now: () => nowMs, after: (ms, run) => { timers.push({ atMs: nowMs + ms, run }); },
    logger: {
      warn: (...line: unknown[]) => { lines.push(line); }, info: (...line: unknown[]) => { lines.push(line); }, error: () => undefined,
    },
  });
  const pass = (ms: number): void => {
    const end = nowMs + ms;
    for (let due = timers.shift(); due !== undefined; due = timers.shift()) {
      if (due.atMs > end) {
        timers.unshift(due);
        break;
      }
      nowMs = due.atMs;
      due.run();
    }
    nowMs = end;
  };
  return { lines, failed, pass, timers };
}

describe('service: what recurs', () => {
  it('is told at once, then after 10, 20, 40 seconds with how often it came, and once when it is over', () => {
    const { lines, failed, pass, timers } = scene();
    // Four times per second for 75 seconds.
    for (let n = 0; n < 300; n++) {
      failed('refused');
      pass(250);
    }
    assert.deepEqual(lines, [
      ['read models: refused'], [{ times: 40 }, 'read models: refused'], [{ times: 80 }, 'read models: refused'], [{ times: 160 }, 'read models: refused'],
    ]);
    pass(14_000);
    assert.equal(lines.length, 4);
    pass(60_000);
    assert.deepEqual(lines.slice(4), [['read models: no error for 15 s']]);
    assert.equal(timers.length, 0, 'nothing waits any more');
    failed('refused');
    assert.deepEqual(lines.at(-1), ['read models: refused'], 'a new error is told at once');
  });

  it('is told of each error by itself, and of many different ones together', () => {
    const { lines, failed, pass } = scene();
    for (let n = 0; n < 40; n++) {
      failed(n % 2 === 0 ? 'terminated' : 'refused');
      pass(100);
    }
    assert.deepEqual(lines, [['read models: terminated'], ['read models: refused']]);
    for (let n = 0; n < 1_000; n++) failed(`attempt ${n}`);
    assert.equal(lines.length, 21);
  });

  it('does not keep a process alive', () => {
    const before = process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    createRecurring({ what: 'x', logger: { warn: () => undefined, info: () => undefined, error: () => undefined } })('failed');
    assert.equal(process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length, before);
  });

  it('is told of workers as seldom, when two warnings come in turns; an info opens the way for the next ones, and an alert is always told', () => {
    const lines: string[] = [];
    let nowMs = 0;
    const report = reportTo(createLogger({ logLevel: 'info' }, { write: (line) => { lines.push((JSON.parse(line) as { msg: string }).msg); } }), () => nowMs);
    // A turn per second for 35 seconds.
    for (let n = 0; n < 35; n++) {
      report('warn', n % 2 === 0 ? 'the lane waits: reset' : 'the lane waits: refused');
      nowMs += 1_000;
    }
    assert.deepEqual(lines, Array.from({ length: 3 }, () => ['the lane waits: reset', 'the lane waits: refused']).flat(), 'at 0, 10 and 30 seconds');
    for (const [level, text] of [['info', 'goes on'], ['warn', 'the lane waits: reset'], ['alert', 'act'], ['alert', 'act']] as const) report(level, text);
    assert.deepEqual(lines.slice(6), ['goes on', 'the lane waits: reset', 'act', 'act']);
  });

  it('is told of warnings that are each another one, however many there have been', () => {
    const lines: string[] = [];
    let nowMs = 0;
    const report = reportTo(createLogger({ logLevel: 'info' }, { write: (line) => { lines.push((JSON.parse(line) as { msg: string }).msg); } }), () => nowMs);
    const texts = Array.from({ length: 60 }, (_, n) => `fill ${n} cannot be sent`);
    for (const text of texts) {
      report('warn', text);
      nowMs += 60_000;
    }
    assert.deepEqual(lines, texts);
  });
});
